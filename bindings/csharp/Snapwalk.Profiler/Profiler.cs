using System.Diagnostics;
using System.Text;
using Microsoft.Diagnostics.NETCore.Client;

namespace Snapwalk;

/// <summary>
/// The profiler of this package: for a process that is started, or for one that runs. Settings are texts such as
/// <c>SNAPWALK_OUT=work.pb.gz</c> and <c>SNAPWALK_HZ=1000</c>.
/// </summary>
public static class Profiler
{
    /// <summary>The profiler's class id.</summary>
    public static readonly Guid ClassId = new("846F5F1C-F9AE-4B07-969E-05C26BC060D8");

    /// <summary>The file of the profiler.</summary>
    /// <exception cref="FileNotFoundException">The program was published for another system than Linux on x64.</exception>
    public static string LibraryPath => NativeFile.Find("libsnapwalk-profiler.so");

    /// <summary>
    /// Has a .NET program that is started so, and those that it starts, profiled from its first method on. Where another
    /// profiler is to be its main one, as <c>CORECLR_PROFILER_PATH</c> says, this one is loaded beside it.
    /// </summary>
    /// <param name="start">Gets environment variables; nothing else of it changes.</param>
    /// <param name="settings">NAME=VALUE each.</param>
    /// <exception cref="ArgumentException">A setting has no equals sign.</exception>
    public static void AddTo(ProcessStartInfo start, params string[] settings)
    {
        foreach (string setting in settings)
        {
            (string name, string value) = Parts(setting);
            start.Environment[name] = value;
        }
        if (HasOther(start.Environment))
        {
            AddBeside(start.Environment);
            return;
        }
        start.Environment["CORECLR_ENABLE_PROFILING"] = "1";
        start.Environment["CORECLR_PROFILER"] = ClassId.ToString("B");
        start.Environment["CORECLR_PROFILER_PATH"] = LibraryPath;
    }

    // As the command's run: the runtime has one main profiler, and any number that are only notified.
    static bool HasOther(IDictionary<string, string?> environment)
    {
        string? Value(string name) => environment.TryGetValue(name, out string? value) && value is not "" ? value : null;
        string? path = Value("CORECLR_PROFILER_PATH_64") ?? Value("CORECLR_PROFILER_PATH");
        return Value("CORECLR_ENABLE_PROFILING") == "1" && path is not null && path != LibraryPath;
    }

    static void AddBeside(IDictionary<string, string?> environment)
    {
        string name = environment.ContainsKey("CORECLR_NOTIFICATION_PROFILERS_64")
            ? "CORECLR_NOTIFICATION_PROFILERS_64"
            : "CORECLR_NOTIFICATION_PROFILERS";
        string before = environment.TryGetValue(name, out string? list) ? list ?? "" : "";
        if (before.Contains(LibraryPath))
            return;
        if (before is not "" && !before.EndsWith(';'))
            before += ";";
        environment["CORECLR_ENABLE_NOTIFICATION_PROFILERS"] = "1";
        environment[name] = $"{before}{LibraryPath}={ClassId:B};"; // .NET up to 10 ignores what no semicolon follows
    }

    /// <summary>
    /// Brings the profiler into a .NET process that runs, of the same user, this one too. It writes its profile when the
    /// process ends, or when the command <c>snapwalk-profiler dump</c> asks for it.
    /// </summary>
    /// <param name="processId">The process: <c>Environment.ProcessId</c> is this one.</param>
    /// <param name="settings">NAME=VALUE each. A relative SNAPWALK_OUT is one of this process's folder, as with the command.</param>
    /// <exception cref="ServerNotAvailableException">There is no such .NET process, or no right to speak with it.</exception>
    /// <exception cref="ServerErrorException">It has a profiler already, or a setting is wrong.</exception>
    /// <exception cref="ArgumentException">A setting has no equals sign, or more than one line.</exception>
    public static void Attach(int processId, params string[] settings)
    {
        foreach (string setting in settings)
            _ = Parts(setting);
        new DiagnosticsClient(processId).AttachProfiler(
            TimeSpan.FromSeconds(10), ClassId, LibraryPath, Encoding.UTF8.GetBytes(string.Join('\n', Placed(settings)) + "\0"));
    }

    // As the command's attach: who asks for a file finds it where he stands, wherever the other process does.
    static IEnumerable<string> Placed(string[] settings)
    {
        const string File = "SNAPWALK_OUT=", Endpoint = "SNAPWALK_ENDPOINT=";
        bool Is(string setting, string name) => setting.StartsWith(name, StringComparison.Ordinal);
        bool goesSomewhere = settings.Any(setting => Is(setting, File) || Is(setting, Endpoint) && setting.Length > Endpoint.Length);
        return (goesSomewhere ? settings : [.. settings, $"{File}snapwalk-%p.pb.gz"]).Select(setting =>
            Is(setting, File) && setting.Length > File.Length ? File + Path.Combine(Directory.GetCurrentDirectory(), setting[File.Length..]) : setting);
    }

    static (string, string) Parts(string setting)
    {
        int at = setting.IndexOf('=');
        if (at <= 0 || setting.Contains('\n') || setting.Contains('\0'))
            throw new ArgumentException($"'{setting}' is not NAME=VALUE", nameof(setting));
        return (setting[..at], setting[(at + 1)..]);
    }
}
