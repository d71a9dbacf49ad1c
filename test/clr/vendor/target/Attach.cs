// Has the profiler attached to this very process, by its own diagnostics socket, as a tool outside would.
// Source: dotnet/diagnostics, documentation/design-docs/ipc-protocol.md (AttachProfiler).
namespace Target;

using System.Net.Sockets;
using System.Text;

static class Attach
{
    const byte ProfilerCommands = 3, AttachProfiler = 1, Server = 0xff, Succeeded = 0;

    public static void Self()
    {
        // By its start, too: a process of the same number that was killed may have left a socket. Field 22 of proc_pid_stat(5).
        string started = File.ReadAllText("/proc/self/stat").Split(") ")[^1].Split(' ')[19];
        string path = Path.Combine(Path.GetTempPath(), $"dotnet-diagnostic-{Environment.ProcessId}-{started}-socket");
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Connect(new UnixDomainSocketEndPoint(path));
        socket.Send(Message());
        var answer = new byte[64];
        int length = socket.Receive(answer);
        if (length < 20 || answer[16] != Server || answer[17] != Succeeded)
            throw new InvalidOperationException("attach: " + Convert.ToHexString(answer, 0, length));
    }

    static byte[] Message()
    {
        var message = new MemoryStream();
        var writer = new BinaryWriter(message);
        string profiler = Environment.GetEnvironmentVariable("TARGET_ATTACH")! + "\0";
        writer.Write(Encoding.ASCII.GetBytes("DOTNET_IPC_V1\0"));
        writer.Write((ushort)(20 + 4 + 16 + 4 + 2 * profiler.Length + 4));
        writer.Write(ProfilerCommands);
        writer.Write(AttachProfiler);
        writer.Write((ushort)0);
        writer.Write(10000); // milliseconds
        writer.Write(new Guid("5a1d2b3c-0000-4000-8000-000000000077").ToByteArray());
        writer.Write(profiler.Length);
        writer.Write(Encoding.Unicode.GetBytes(profiler));
        writer.Write(0); // no client data
        return message.ToArray();
    }
}
