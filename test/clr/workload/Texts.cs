// Text work in the framework's precompiled code, which calls back into ours: expressions, formats, encodings, JSON.

using System.Globalization;
using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization;
using System.Text.RegularExpressions;

namespace Workload;

static partial class Texts
{
    public const int Tag = 20000;

    static readonly Regex compiled = new(@"\d+", RegexOptions.Compiled);
    static readonly StringComparer ignoringCase = StringComparer.Create(CultureInfo.InvariantCulture, true);

    public static readonly Scenario[] All =
    [
        new("regex", () => RegexReplace(new Regex(@"\d+")), 11),
        new("regex-compiled", () => RegexReplace(compiled), 11),
        new("regex-generated", () => RegexReplace(Numbers()), 11),
        new("regex-backtracking", () => Regex.Matches("aaab aab ab", "(a+)+b").Count(match => Stay(match.Length) > 0), 3),
        new("string-create", () => string.Create(8, 'x', (span, c) => { Probe.Here(Tag); span.Fill(c); }).Length, 8),
        new("string-format", () => string.Format(new Formatter(), "{0:a} {1:b}", 1, 2).Length, 7),
        new("string-formattable", () => $"{new Shape(3):R}".Length + string.Join(",", new Shape(1), new Shape(2)).Length, 22),
        new("string-split", Words, 60),
        new("string-builder", Built, 200),
        new("parse-generic", () => Parsed<Shape>("12") + Parsed<Shape>("7"), 19),
        new("encoding-fallback", Encoded, 5),
        new("culture-compare", () => new[] { "b", "A", "c" }.Order(ignoringCase).Count(Seen), 3),
        new("json", JsonBothWays, 6),
        new("json-polymorphic", JsonPolymorphic, 3),
        new("json-document", JsonDocuments, 10),
        new("json-throws", JsonThrows, 1),
        new("json-stream", () => JsonStream().GetAwaiter().GetResult(), 3),
    ];

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    static bool Seen(string text) => Stay(text.Length) > 0;

    [GeneratedRegex(@"\d+")]
    private static partial Regex Numbers();

    static int RegexReplace(Regex regex) => regex.Replace("a1b22c333d", match => Probe.Pass(Tag, $"<{match.Length}>"))
                                                 .Replace(">", "", StringComparison.Ordinal).Length + 1;

    sealed class Formatter : IFormatProvider, ICustomFormatter
    {
        public object? GetFormat(Type? type) => Probe.Pass(Tag, type == typeof(ICustomFormatter) ? this : null);

        public string Format(string? format, object? argument, IFormatProvider? provider) =>
            Probe.Pass(Tag, $"<{format}>");
    }

    readonly record struct Shape(int Sides) : IFormattable, IParsable<Shape>
    {
        public string ToString(string? format, IFormatProvider? provider) => Probe.Pass(Tag, $"shape {Sides}");

        public override string ToString() => ToString(null, null);

        public static Shape Parse(string text, IFormatProvider? provider) => Probe.Pass(Tag, new Shape(int.Parse(text)));

        public static bool TryParse(string? text, IFormatProvider? provider, out Shape shape)
        {
            shape = Parse(text ?? "0", provider);
            return true;
        }

        public static implicit operator int(Shape shape) => shape.Sides;
    }

    static T Parsed<T>(string text) where T : IParsable<T> =>
        T.TryParse(text, null, out T? parsed) ? parsed : throw new FormatException();

    static int Words()
    {
        var count = new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase);
        foreach (string word in string.Join(' ', Enumerable.Repeat("the quick Brown fox THE lazy", 10)).Split(' '))
            count[word] = count.GetValueOrDefault(word) + 1;
        return count.Values.Select(Stay).Sum();
    }

    static int Built()
    {
        var builder = new StringBuilder();
        for (int i = 0; i < 50; i++)
            builder.Append($"{i % 10}").Append("abc");
        foreach (ReadOnlyMemory<char> chunk in builder.GetChunks())
            Stay(chunk.Length);
        return builder.ToString().Length;
    }

    sealed class Fallback : EncoderFallback
    {
        public override int MaxCharCount => 1;

        public override EncoderFallbackBuffer CreateFallbackBuffer() =>
            Probe.Pass(Tag, new EncoderReplacementFallback("?").CreateFallbackBuffer());
    }

    static int Encoded()
    {
        Encoding ascii = Encoding.GetEncoding("us-ascii", new Fallback(), DecoderFallback.ExceptionFallback);
        return ascii.GetBytes("a\u00e9b\u00e9c").Length;
    }

    sealed record Person(string Name, int Age, Shape Shape, Person? Friend);

    sealed class ShapeConverter : JsonConverter<Shape>
    {
        public override Shape Read(ref Utf8JsonReader reader, Type type, JsonSerializerOptions options) =>
            Probe.Pass(Tag, new Shape(reader.GetInt32()));

        public override void Write(Utf8JsonWriter writer, Shape shape, JsonSerializerOptions options) =>
            writer.WriteNumberValue(Probe.Pass(Tag, shape.Sides));
    }

    static readonly JsonSerializerOptions options = new() { Converters = { new ShapeConverter() } };

    static int JsonBothWays()
    {
        var person = new Person("a", 1, new(2), new Person("b", 2, new(4), null));
        string text = JsonSerializer.Serialize(person, options);
        Person again = JsonSerializer.Deserialize<Person>(text, options)!;
        return again.Shape.Sides + again.Friend!.Shape.Sides;
    }

    [JsonDerivedType(typeof(Dog), "dog")]
    record Animal(int Legs) : IJsonOnDeserialized
    {
        public void OnDeserialized() => Probe.Here(Tag);
    }

    sealed record Dog(int Legs, string Name) : Animal(Legs);

    static int JsonPolymorphic()
    {
        string text = JsonSerializer.Serialize<Animal[]>([new Dog(4, "abc"), new Animal(2)]);
        return JsonSerializer.Deserialize<Animal[]>(text)![0] is Dog dog ? dog.Name.Length : 0;
    }

    static int JsonDocuments()
    {
        using JsonDocument document = JsonDocument.Parse("[1, 2, 3, 4]");
        return document.RootElement.EnumerateArray().Sum(element => Stay(element.GetInt32()));
    }

    static int JsonThrows()
    {
        try
        {
            JsonSerializer.Deserialize<Person>("""{"Name": "a", "Shape": "no number"}""", options);
            return 0;
        }
        catch (Exception e) when (Probe.Pass(Tag, e is JsonException or InvalidOperationException))
        {
            return Stay(1);
        }
    }

    static async Task<int> JsonStream()
    {
        using var stream = new MemoryStream();
        await JsonSerializer.SerializeAsync(stream, new Shape[] { new(1), new(2) }, options);
        stream.Position = 0;
        int sum = 0;
        await foreach (Shape shape in JsonSerializer.DeserializeAsyncEnumerable<Shape>(stream, options))
            sum += shape.Sides;
        return sum;
    }
}
