// Input and output: files, pipes, sockets on the loopback address, blocking and asynchronous.

using System.IO.Pipes;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Workload;

static class Streams
{
    public const int Tag = 14000;

    const int Port = 0; // any

    public static readonly Scenario[] All =
    [
        new("file", FileSync, 5000),
        new("file-async", FileAsync, 5000),
        new("file-lines", FileLines, 10),
        new("file-missing", FileMissing, 1),
        new("pipe", PipeSync, 12),
        new("pipe-async", () => PipeAsync().GetAwaiter().GetResult(), 12),
        new("socket", SocketSync, 10),
        new("socket-async", () => SocketAsync().GetAwaiter().GetResult(), 10),
        new("socket-events", SocketEvents, 4),
        new("socket-refused", SocketRefused, 1),
        new("stream-custom", CustomStream, 300),
        new("gzip", Zipped, 2000),
    ];

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    static T WithFile<T>(Func<string, T> use)
    {
        string path = Path.Combine(Path.GetTempPath(), Path.GetRandomFileName());
        try
        {
            return use(path);
        }
        finally
        {
            File.Delete(path);
            Probe.Here(Tag);
        }
    }

    static int FileSync() => WithFile(path =>
    {
        File.WriteAllBytes(path, new byte[5000]);
        using FileStream file = File.OpenRead(path);
        byte[] bytes = new byte[1000];
        int sum = 0;
        for (int read; (read = file.Read(bytes)) > 0; sum += read)
            Probe.Here(Tag);
        return sum;
    });

    static int FileAsync() => WithFile(path => FileAsync(path).GetAwaiter().GetResult());

    static async Task<int> FileAsync(string path)
    {
        await using var file = new FileStream(path, FileMode.Create, FileAccess.ReadWrite, FileShare.None, 1, true);
        for (int i = 0; i < 5; i++)
        {
            await file.WriteAsync(new byte[1000]);
            Probe.Here(Tag);
        }
        file.Position = 0;
        return Stay(await file.ReadAsync(new byte[6000]));
    }

    static int FileLines() => WithFile(path =>
    {
        File.WriteAllLines(path, Enumerable.Range(0, 10).Select(i => $"line {Stay(i)}"));
        return File.ReadLines(path).Count(line => Stay(line.Length) == 6);
    });

    static int FileMissing()
    {
        try
        {
            File.OpenRead(Path.Combine(Path.GetTempPath(), Path.GetRandomFileName())).Dispose();
            return 0;
        }
        catch (FileNotFoundException) when (Stay(1) == 1)
        {
            return Stay(1);
        }
    }

    static int PipeSync()
    {
        using var server = new AnonymousPipeServerStream(PipeDirection.Out);
        using var client = new AnonymousPipeClientStream(PipeDirection.In, server.ClientSafePipeHandle);
        int sum = 0;
        Pool.Together(2, index =>
        {
            if (index == 0)
                for (int i = 0; i < 3; i++)
                {
                    Thread.Sleep(i);
                    Probe.Here(Tag);
                    server.Write("abcd"u8);
                }
            else
                while (sum < 12)
                    sum += Stay(client.Read(new byte[4]));
        });
        return sum;
    }

    static async Task<int> PipeAsync()
    {
        await using var server = new AnonymousPipeServerStream(PipeDirection.Out);
        await using var client = new AnonymousPipeClientStream(PipeDirection.In, server.ClientSafePipeHandle);
        Task<int> reading = Task.Run(async () =>
        {
            int sum = 0;
            while (sum < 12)
                sum += Stay(await client.ReadAsync(new byte[4]));
            return sum;
        });
        for (int i = 0; i < 3; i++)
        {
            await Task.Yield();
            await server.WriteAsync("abcd"u8.ToArray());
            Probe.Here(Tag);
        }
        return await reading;
    }

    static TcpListener Listen()
    {
        var listener = new TcpListener(IPAddress.Loopback, Port);
        listener.Start();
        return listener;
    }

    static int SocketSync()
    {
        using TcpListener listener = Listen();
        int got = 0;
        Pool.Together(2, index =>
        {
            if (index == 0)
            {
                using TcpClient served = listener.AcceptTcpClient();
                while (Stay(served.GetStream().ReadByte()) >= 0)
                    got++;
            }
            else
            {
                using var client = new TcpClient();
                client.Connect((IPEndPoint)listener.LocalEndpoint);
                for (int i = 0; i < 10; i++)
                    client.GetStream().WriteByte((byte)Stay(i));
            }
        });
        return got;
    }

    static async Task<int> SocketAsync()
    {
        using TcpListener listener = Listen();
        Task<int> serving = Task.Run(async () =>
        {
            using TcpClient served = await listener.AcceptTcpClientAsync();
            int sum = 0;
            for (int read; (read = await served.GetStream().ReadAsync(new byte[4])) > 0; sum += read)
                Probe.Here(Tag);
            return sum;
        });
        using (var client = new TcpClient())
        {
            await client.ConnectAsync((IPEndPoint)listener.LocalEndpoint);
            Probe.Here(Tag);
            for (int i = 0; i < 5; i++)
                await client.GetStream().WriteAsync("ab"u8.ToArray());
        }
        return Stay(await serving);
    }

    // The callback comes from the thread that waits for all sockets.
    static int SocketEvents()
    {
        using var receiver = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        using var sender = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        using var arguments = new SocketAsyncEventArgs();
        using var done = new ManualResetEventSlim();
        receiver.Bind(new IPEndPoint(IPAddress.Loopback, Port));
        arguments.SetBuffer(new byte[16]);
        arguments.Completed += (_, _) =>
        {
            Probe.Here(Tag);
            done.Set();
        };
        if (!receiver.ReceiveAsync(arguments))
            done.Set();
        sender.SendTo("abcd"u8, receiver.LocalEndPoint!);
        done.Wait();
        return arguments.BytesTransferred;
    }

    static int SocketRefused()
    {
        using var bound = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, Port)); // and nobody listens
        try
        {
            using var client = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            client.Connect(bound.LocalEndPoint!);
            return 0;
        }
        catch (SocketException) when (Stay(1) == 1)
        {
            return Stay(1);
        }
    }

    sealed class Endless : Stream
    {
        public override bool CanRead => true;
        public override bool CanSeek => false;
        public override bool CanWrite => false;
        public override long Length => throw new NotSupportedException();
        public override long Position { get; set; }
        public override void Flush() { }
        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();
        public override void SetLength(long value) => throw new NotSupportedException();
        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

        public override int Read(byte[] buffer, int offset, int count)
        {
            Probe.Here(Tag);
            int given = Math.Min(count, 100);
            buffer.AsSpan(offset, given).Fill((byte)'x');
            Position += given;
            return Position > 300 ? 0 : given;
        }
    }

    static int CustomStream()
    {
        using var reader = new StreamReader(new Endless(), Encoding.UTF8, false, 128);
        return reader.ReadToEnd().Length;
    }

    static int Zipped()
    {
        using var packed = new MemoryStream();
        using (var zip = new System.IO.Compression.GZipStream(packed, System.IO.Compression.CompressionLevel.Fastest, true))
            for (int i = 0; i < 20; i++)
                zip.Write(new byte[Stay(100)]);
        packed.Position = 0;
        using var unzip = new System.IO.Compression.GZipStream(packed, System.IO.Compression.CompressionMode.Decompress);
        using var plain = new MemoryStream();
        unzip.CopyTo(plain);
        return Stay((int)plain.Length);
    }
}
