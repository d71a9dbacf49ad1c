using System.Diagnostics;

namespace Snapwalk;

/// <summary>
/// The overlay: it is loaded in place of a profiler, loads that one, and answers its DoStackSnapshot for running threads, where
/// the runtime says E_NOTIMPL on Linux. The profiler needs no change.
/// </summary>
public static class Overlay
{
    /// <summary>The file of the overlay.</summary>
    /// <exception cref="FileNotFoundException">The program was published for another system than Linux on x64.</exception>
    public static string LibraryPath => NativeFile.Find("libsnapwalk-overlay.so");

    /// <summary>Has a .NET program started with a profiler and the overlay in front of it.</summary>
    /// <param name="start">Gets environment variables; nothing else of it changes.</param>
    /// <param name="profiler">The profiler's class id.</param>
    /// <param name="path">The profiler's file.</param>
    public static void AddTo(ProcessStartInfo start, Guid profiler, string path)
    {
        start.Environment["CORECLR_ENABLE_PROFILING"] = "1";
        start.Environment["CORECLR_PROFILER"] = profiler.ToString("B");
        start.Environment["CORECLR_PROFILER_PATH"] = LibraryPath;
        start.Environment["SNAPWALK_OVERLAY_PROFILER"] = Path.GetFullPath(path);
    }
}
