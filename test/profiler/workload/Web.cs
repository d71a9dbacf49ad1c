// A web server in the process, and a client that asks it.

using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace Profiled;

static class Web
{
    static readonly HttpClient client = new();
    static readonly Lazy<Task<Uri>> server = new(Start);

    static async Task<Uri> Start()
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(options => options.Listen(IPAddress.Loopback, 0));
        WebApplication application = builder.Build();
        application.MapGet("/{value:int}", (int value) => Results.Json(new { value, list = Enumerable.Range(0, 100) }));
        await application.StartAsync();
        return new Uri(application.Urls.First());
    }

    /// <summary>Says where it is, and serves until its standard input ends.</summary>
    public static async Task<int> Serve()
    {
        Console.WriteLine($"ready {Environment.ProcessId} {new Uri(await server.Value, "/7")}");
        await Task.Run(Console.Read);
        return 0;
    }

    public static async Task<int> Get(int value)
    {
        string answer = await client.GetStringAsync(new Uri(await server.Value, $"/{value}"));
        return value + (answer.StartsWith($"{{\"value\":{value},", StringComparison.Ordinal) ? 3 : 0);
    }
}
