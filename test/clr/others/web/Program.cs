// A web service and its clients in one process: web SECONDS. JSON, streams, exceptions that middleware catches, and
// cancelled requests, over Kestrel's sockets. Fails where an answer is not the one expected.

using System.Net;
using System.Net.Http.Json;

double seconds = double.Parse(args[0]);
var builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
builder.WebHost.UseUrls("http://127.0.0.1:0");
var app = builder.Build();
app.Use(async (context, next) =>
{
    try
    {
        await next(context);
    }
    catch (InvalidOperationException e) when (e.Message.Length > 0)
    {
        context.Response.StatusCode = 418;
    }
});
app.MapGet("/sum/{n:int}", (int n) => new Answer(n, Enumerable.Range(1, n).Where(i => i % 3 != 0).Sum()));
app.MapPost("/echo", async (HttpRequest request) => Results.Text(await new StreamReader(request.Body).ReadToEndAsync()));
app.MapGet("/throws", string () => throw new InvalidOperationException("as asked"));
app.MapGet("/slow", async (CancellationToken left) =>
{
    await Task.Delay(50, left);
    return "slow";
});
await app.StartAsync();

using var client = new HttpClient { BaseAddress = new Uri(app.Urls.First()) };
var until = DateTime.UtcNow.AddSeconds(seconds);
int[] counts = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(Ask)));
await app.StopAsync();
Console.WriteLine($"web: {counts.Sum()} requests");

async Task<int> Ask()
{
    int asked = 0;
    for (; DateTime.UtcNow < until; asked++)
    {
        var answer = await client.GetFromJsonAsync<Answer>($"/sum/{asked % 1000 + 1}");
        var echo = await client.PostAsync("/echo", new StringContent(new string('x', asked % 5000)));
        var thrown = await client.GetAsync("/throws");
        if (answer?.N != asked % 1000 + 1 || (await echo.Content.ReadAsStringAsync()).Length != asked % 5000 ||
            thrown.StatusCode != (HttpStatusCode)418)
            throw new InvalidOperationException("not the answer");
        if (asked % 50 == 0)
            await Leave();
    }
    return asked * 3;
}

async Task Leave()
{
    using var impatience = new CancellationTokenSource(5);
    try
    {
        await client.GetStringAsync("/slow", impatience.Token);
    }
    catch (OperationCanceledException)
    {
    }
}

record Answer(int N, int Sum);
