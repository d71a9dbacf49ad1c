/*
 * Stacks as text: "result TAB frame frame ...". A managed frame is module!token, a run of native frames is "-"; the
 * same frame many times over is written once, with its count. Nothing that differs from run to run is in it.
 */
#include "vendor.h"

#include <vector>

struct Frame {
    Id function;
    std::uintptr_t ip;
};

struct Walk {
    std::vector<Frame> frames;
    std::uint32_t contextSize = 0;
    unsigned wrongContexts = 0;
};

/* Where the pc is in the CONTEXT of Windows for this machine. */
#if defined(__aarch64__)
static const unsigned PC_AT = 0x108;
#else
static const unsigned PC_AT = 0xf8;
#endif

static std::uint64_t context_word(const unsigned char *context, unsigned offset)
{
    std::uint64_t value;
    __builtin_memcpy(&value, context + offset, sizeof(value));
    return value;
}

/* Takes no lock and no memory while the walked thread may hold them: the vector is reserved by the caller. */
static HResult on_frame(Id function, std::uintptr_t ip, std::uintptr_t, std::uint32_t contextSize,
                        unsigned char *context, void *data)
{
    Walk *walk = static_cast<Walk *>(data);
    if (walk->frames.size() == walk->frames.capacity())
        return 1;
    walk->frames.push_back({ function, ip });
    walk->contextSize = contextSize;
    walk->wrongContexts += (context != nullptr) != (contextSize != 0) || (context && context_word(context, PC_AT) != ip);
    return Ok;
}

static std::string module_name(Id module)
{
    char16_t name[512];
    std::uint32_t length = 0;
    if (info->GetModuleInfo(module, nullptr, 512, &length, name, nullptr) != Ok || length == 0)
        return "?";
    std::string path;
    for (std::uint32_t i = 0; i + 1 < length; i++)
        path += static_cast<char>(name[i]);
    return path.substr(path.rfind('/') + 1);
}

std::string function_name(Id function)
{
    Id module = 0;
    std::uint32_t token = 0;
    if (info->GetFunctionInfo(function, nullptr, &module, &token) != Ok)
        return "?";
    return module_name(module) + "!" + hex(token);
}

/* GetFunctionFromIP must agree with the frame; a return address may lie behind its method. */
static std::string frame_text(const Frame &frame)
{
    Id found = 0;
    const HResult hr = info->GetFunctionFromIP(reinterpret_cast<const unsigned char *>(frame.ip - 1), &found);
    if (frame.function == 0)
        return hr == Ok ? "-(managed)" : "-";
    return function_name(frame.function) + (hr == Ok && found == frame.function ? "" : "(" + hex(hr) + ")");
}

static std::string frames_text(const std::vector<Frame> &frames)
{
    std::string text, last;
    unsigned repeated = 0;
    for (size_t i = 0; i <= frames.size(); i++) {
        const std::string name = i < frames.size() ? frame_text(frames[i]) : "";
        if (name == last) {
            repeated++;
            continue;
        }
        if (repeated > 1)
            text += "*" + std::to_string(repeated);
        text += (i < frames.size() ? " " : "") + name;
        last = name;
        repeated = 1;
    }
    return text;
}

std::string stack(Id thread, std::uint32_t flags)
{
    Walk walk;
    walk.frames.reserve(8192);
    const HResult hr = info->DoStackSnapshot(thread, on_frame, flags, &walk, nullptr, 0);
    std::string text = hex(static_cast<std::uint32_t>(hr)) + "\t" + frames_text(walk.frames);
    if (flags & 1)
        text += "\tcontext " + hex(walk.contextSize) + " wrong " + std::to_string(walk.wrongContexts);
    return text;
}

void look(const std::string &occasion)
{
    record(occasion + "\t" + stack(0));
}
