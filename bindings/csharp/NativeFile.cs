namespace Snapwalk;

/// <summary>Files of a package for Linux on x64: beside the program, or where the host says that libraries are.</summary>
static class NativeFile
{
    public static string Find(string name)
    {
        var listed = AppContext.GetData("NATIVE_DLL_SEARCH_DIRECTORIES") as string ?? "";
        string[] folders =
            [.. listed.Split(':', StringSplitOptions.RemoveEmptyEntries), AppContext.BaseDirectory,
             Path.Combine(AppContext.BaseDirectory, "runtimes", "linux-x64", "native")];
        return folders.Select(folder => Path.Combine(folder, name)).FirstOrDefault(File.Exists)
            ?? throw new FileNotFoundException($"{name} is in none of {string.Join(", ", folders)}; it is for Linux on x64", name);
    }
}
