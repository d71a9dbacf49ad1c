/*
 * The names of the statuses, and the version. Refuses to know what a status
 * means: snapwalk/status.h says that.
 */
#include <snapwalk/status.h>

#include <assert.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

/* clang-format off */
static const char *const status_names[] = { /* ORDER sw_status */
    [SW_OK]            = "SW_OK",
    [SW_E_ARGUMENT]    = "SW_E_ARGUMENT",
    [SW_E_NO_MEMORY]   = "SW_E_NO_MEMORY",
    [SW_E_EMPTY]       = "SW_E_EMPTY",
    [SW_E_WRAPS]       = "SW_E_WRAPS",
    [SW_E_OVERLAP]     = "SW_E_OVERLAP",
    [SW_E_NOT_FOUND]   = "SW_E_NOT_FOUND",
    [SW_E_EXISTS]      = "SW_E_EXISTS",
    [SW_E_BUSY]        = "SW_E_BUSY",
    [SW_E_TRUNCATED]   = "SW_E_TRUNCATED",
    [SW_E_MALFORMED]   = "SW_E_MALFORMED",
    [SW_E_UNSUPPORTED] = "SW_E_UNSUPPORTED",
    [SW_E_UNREADABLE]  = "SW_E_UNREADABLE",
    [SW_E_LIMIT]       = "SW_E_LIMIT",
    [SW_E_NO_RULE]     = "SW_E_NO_RULE",
    [SW_E_PERMISSION]  = "SW_E_PERMISSION",
    [SW_E_GONE]        = "SW_E_GONE",
    [SW_E_OS]          = "SW_E_OS",
};
/* clang-format on */
static_assert(sizeof(status_names) / sizeof(status_names[0]) == SW_STATUS_COUNT, "a name for every status");

const char *sw_status_name(enum sw_status status)
{
    const unsigned row = (unsigned)status;
    return row < SW_STATUS_COUNT ? status_names[row] : "SW_E_?";
}

const char *sw_version(void)
{
    return TEXT(SW_VERSION_MAJOR) "." TEXT(SW_VERSION_MINOR) "." TEXT(SW_VERSION_PATCH);
}
