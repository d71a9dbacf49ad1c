/*
 * Methods that compilers make of others, as they were written, by the compilers' names. Knows C# and Visual Basic;
 * refuses to guess: what does not follow the rules keeps its name. Source: clr-names.md section 5, rows 5.7 to 5.12.
 */
#include "clr/names/names.h"

#include <string.h>

/* Behind the '>' that closes the '<' at the name's start; null: none does. */
static char *behind_bracket(char *name)
{
    unsigned depth = 0;
    for (char *c = name; *name == '<' && *c; c++) {
        depth += *c == '<';
        if (*c == '>' && --depth == 0)
            return c + 1;
    }
    return NULL;
}

/* "<Outer>b__1_0", "<Outer>g__Local|1_0", and such names inside of each other. */
static void unfold(char name[SW_NAMES_STRING])
{
    char made[SW_NAMES_STRING], *rest;
    for (unsigned i = 0; i < SW_NAMES_DEPTH && (rest = behind_bracket(name)) != NULL; i++) {
        struct sw_names_text text = { made, made, made + sizeof made - 1, false };
        const size_t inner = (size_t)(rest - name) - 2;
        const bool is_lambda = strncmp(rest, "b__", 3) == 0, is_local = strncmp(rest, "g__", 3) == 0;
        if (!is_lambda && !is_local)
            return;
        sw_names_put_part(&text, name + 1, inner);
        sw_names_put(&text, is_lambda ? ".{lambda#" : ".");
        sw_names_put_part(&text, rest + 3, strcspn(rest + 3, "|"));
        sw_names_put(&text, is_lambda ? "}" : "");
        memcpy(name, made, sizeof made);
    }
}

/* "<Method>d__1", "<Method>d", "VB$StateMachine_1_Method": *method receives the method's name. */
static bool is_state_machine(char type[SW_NAMES_STRING], char method[SW_NAMES_STRING])
{
    static const char basic[] = "VB$StateMachine_";
    char *rest = behind_bracket(type);
    if (strncmp(type, basic, sizeof basic - 1) == 0) {
        const char *number_end = strchr(type + sizeof basic - 1, '_');
        if (number_end)
            memmove(method, number_end + 1, strlen(number_end));
        return number_end != NULL;
    }
    if (!rest || rest - type < 3 || *rest != 'd' || (rest[1] != 0 && rest[1] != '_' && rest[1] != '`'))
        return false;
    memcpy(method, type + 1, (size_t)(rest - type) - 2);
    method[rest - type - 2] = 0;
    for (char *c = method; *c; c++)
        *c = *c == '-' ? '.' : *c; /* of an explicit interface */
    return true;
}

static bool is_closure(const char *type)
{
    return strncmp(type, "<>c", 3) == 0 && (type[3] == 0 || type[3] == '_' || type[3] == '`');
}

bool sw_names_written(const struct sw_names *names, const struct sw_names_metadata *m, uint32_t *type,
                      char name[SW_NAMES_STRING])
{
    char around[SW_NAMES_STRING];
    bool resumed = false;
    for (unsigned i = 0; i < SW_NAMES_DEPTH; i++) {
        const uint32_t outer = sw_names_outer(names, m, *type);
        if (outer == 0 ||
            !sw_names_string(names, m, sw_names_cell(names, m, SW_CLR_TYPE_DEF, *type, SW_CLR_DEF_NAME), around))
            break;
        const bool is_machine = strcmp(name, "MoveNext") == 0 && is_state_machine(around, name);
        if (!is_machine && !(is_closure(around) && *name == '<'))
            break;
        resumed |= is_machine;
        *type = outer;
    }
    unfold(name);
    return resumed;
}
