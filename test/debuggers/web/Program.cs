// A web service of which a number of requests wait: web COUNT. Each holds a thread of the pool, some calls deep.

using System.Runtime.CompilerServices;

int count = int.Parse(args[0]);
using var there = new CountdownEvent(count);
using var never = new ManualResetEventSlim();
ThreadPool.SetMinThreads(count + 50, 50);
var builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
builder.WebHost.UseUrls("http://127.0.0.1:0");
var app = builder.Build();
app.MapGet("/wait/{depth:int}", (int depth) => Deeper(depth));
await app.StartAsync();

using var client = new HttpClient { BaseAddress = new Uri(app.Urls.First()), Timeout = Timeout.InfiniteTimeSpan };
for (int i = 0; i < count; i++)
    _ = client.GetStringAsync($"/wait/{i % 7}");
there.Wait();
Console.WriteLine("ready");
Console.ReadLine();

[MethodImpl(MethodImplOptions.NoInlining)]
int Deeper(int depth)
{
    if (depth > 0)
        return Deeper(depth - 1) + 1;
    there.Signal();
    never.Wait();
    return 0;
}
