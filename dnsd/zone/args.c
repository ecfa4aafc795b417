/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines: commands, options, help, error messages */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnsd/zone/args.h"

#define LINE    79      /* columns of the help */
#define INDENT  26

typedef struct Parser {
    const char *program;
    const ArgCommand *command;
    char **words;
    size_t count;
    size_t at;
    char **kept;            /* the words that are not options */
    size_t kept_count;
} Parser;

static int complain(const Parser *p)
{
    fprintf(stderr, "; see '%s %s --help'\n", p->program, p->command->name);
    return EXIT_USAGE;
}

static void begin_complaint(const Parser *p)
{
    fprintf(stderr, "%s %s: ", p->program, p->command->name);
}

/* --- values --------------------------------------------------------------- */

/* Read a number; "64M" is 67108864.  Returns: false if the text is not one. */
static bool read_number(const char *text, bool is_size, uint64_t *number)
{
    static const char units[] = "KMGT";
    const char *unit, *at = text;
    unsigned shift;

    *number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = *at - '0';

        if (*number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *number = *number * 10 + digit;
    }
    if (at == text || !*at) {
        return at != text;
    }
    unit = strchr(units, *at & ~0x20);
    if (!is_size || !unit || at[1]) {
        return false;
    }
    shift = 10 * (unit - units + 1);
    if (*number > UINT64_MAX >> shift) {
        return false;
    }
    *number <<= shift;
    return true;
}

static int refuse_number(const Parser *p, const ArgOption *o,
                         const char *value)
{
    begin_complaint(p);
    fprintf(stderr, "option --%s: '%s' is no %s from %" PRIu64, o->name,
            value, o->kind == ARG_SIZE ? "size" : "number", o->least);
    fprintf(stderr, o->most == UINT64_MAX ? " on" : " to %" PRIu64, o->most);
    if (o->kind == ARG_SIZE) {
        fputs(" octets, such as 64M", stderr);
    }
    return complain(p);
}

static int refuse_choice(const Parser *p, const ArgOption *o,
                         const char *value)
{
    begin_complaint(p);
    fprintf(stderr, "option --%s: '%s' is none of ", o->name, value);
    for (size_t i = 0; o->choices[i]; i++) {
        fprintf(stderr, "%s%s", i ? ", " : "", o->choices[i]);
    }
    return complain(p);
}

static int take_choice(const Parser *p, const ArgOption *o, const char *value)
{
    for (unsigned i = 0; o->choices[i]; i++) {
        if (!strcmp(o->choices[i], value)) {
            *(unsigned *)o->to = i;
            return 0;
        }
    }
    return refuse_choice(p, o, value);
}

static int take_value(const Parser *p, const ArgOption *o, const char *value)
{
    uint64_t number;

    switch (o->kind) {
    case ARG_FLAG:
        *(bool *)o->to = true;
        return 0;
    case ARG_TEXT:
        *(const char **)o->to = value;
        return 0;
    case ARG_CHOICE:
        return take_choice(p, o, value);
    default:
        if (!read_number(value, o->kind == ARG_SIZE, &number) ||
            number < o->least || number > o->most) {
            return refuse_number(p, o, value);
        }
        *(uint64_t *)o->to = number;
        return 0;
    }
}

/* --- words ---------------------------------------------------------------- */

/* Find the option of "--name", "--name=value" or "-n", and its value if any. */
static const ArgOption *find_in(const ArgOption *options, const char *word,
                                const char **value)
{
    bool is_long = word[1] == '-';
    size_t len = is_long ? strcspn(word + 2, "=") : 1;

    for (const ArgOption *o = options; o && o->name; o++) {
        if (is_long ? strlen(o->name) == len && !strncmp(o->name, word + 2, len)
                    : o->letter == word[1]) {
            *value = is_long ? (word[2 + len] ? word + 3 + len : NULL)
                             : (word[2] ? word + 2 : NULL);
            return o;
        }
    }
    return NULL;
}

static const ArgOption *find(const Parser *p, const char *word,
                             const char **value)
{
    const ArgOption *own = find_in(p->command->options, word, value);

    return own ? own : find_in(p->command->shared, word, value);
}

static int take_option(Parser *p, const char *word)
{
    const char *value;
    const ArgOption *o = find(p, word, &value);

    if (!o) {
        begin_complaint(p);
        fprintf(stderr, "there is no option %s", word);
        return complain(p);
    }
    if (o->kind == ARG_FLAG && value) {
        begin_complaint(p);
        fprintf(stderr, "option --%s takes no value, but has '%s'", o->name,
                value);
        return complain(p);
    }
    if (o->kind != ARG_FLAG && !value) {
        if (p->at == p->count) {
            begin_complaint(p);
            fprintf(stderr, "option --%s needs a value, %s", o->name,
                    o->value);
            return complain(p);
        }
        value = p->words[p->at++];
    }
    if (o->given) {
        *o->given = true;
    }
    return take_value(p, o, value);
}

static int take_words(Parser *p)
{
    bool are_options = true;

    while (p->at < p->count) {
        char *word = p->words[p->at++];
        int ret;

        if (!are_options || word[0] != '-' || !word[1]) {
            p->kept[p->kept_count++] = word;
        } else if (!strcmp(word, "--")) {
            are_options = false;
        } else {
            ret = take_option(p, word);
            if (ret) {
                return ret;
            }
        }
    }
    return 0;
}

static int check_count(const Parser *p)
{
    const ArgCommand *c = p->command;

    if (p->kept_count < c->least) {
        begin_complaint(p);
        fprintf(stderr, "it needs more: %s", c->usage);
        return complain(p);
    }
    if (c->most && p->kept_count > c->most) {
        begin_complaint(p);
        fprintf(stderr, "'%s' is one word more than it takes: %s",
                p->kept[c->most], c->usage);
        return complain(p);
    }
    return 0;
}

static bool wants_help(char **words, size_t count)
{
    for (size_t i = 0; i < count && strcmp(words[i], "--"); i++) {
        if (!strcmp(words[i], "--help") || !strcmp(words[i], "-h")) {
            return true;
        }
    }
    return false;
}

int args_run(const char *program, const ArgCommand *command, char **words,
             size_t count)
{
    Parser p = { program, command, words, count, 0, NULL, 0 };
    int ret;

    if (wants_help(words, count)) {
        args_help(program, command);
        return args_flush(EXIT_DONE);
    }
    p.kept = calloc(count + 1, sizeof(*p.kept));
    if (!p.kept) {
        perror(program);
        return EXIT_CANNOT;
    }
    ret = take_words(&p);
    ret = ret ? ret : check_count(&p);
    ret = ret ? ret : command->run(p.kept, p.kept_count);
    free(p.kept);
    return ret;
}

/* --- help ----------------------------------------------------------------- */

static void print_wrapped(const char *text, int column)
{
    while (*text) {
        int len = strcspn(text, "\n ");

        if (column > INDENT && column + 1 + len > LINE) {
            putchar('\n');
            column = printf("%*s", INDENT, "");
        }
        printf("%s%.*s", column > INDENT ? " " : "", len, text);
        column += len + (column > INDENT);
        text += len + !!text[len];
    }
    putchar('\n');
}

static void print_option(const ArgOption *o)
{
    int len = o->letter ? printf("  -%c, --%s", o->letter, o->name)
                        : printf("      --%s", o->name);

    len += o->value ? printf(" %s", o->value) : 0;
    if (len >= INDENT) {
        putchar('\n');
        len = 0;
    }
    printf("%*s", INDENT - len, "");
    print_wrapped(o->help, INDENT);
}

static void print_options(const ArgOption *options)
{
    for (const ArgOption *o = options; o && o->name; o++) {
        print_option(o);
    }
}

void args_help(const char *program, const ArgCommand *command)
{
    printf("usage: %s %s %s\n", program, command->name, command->usage);
    puts("");
    puts(command->summary);
    if (command->text) {
        puts("");
        puts(command->text);
    }
    puts("");
    puts("options:");
    print_options(command->options);
    print_options(command->shared);
    puts("  -h, --help              this text");
}

int args_flush(int code)
{
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "vmmnet-zone: standard output: %s\n",
                strerror(errno));
        return EXIT_CANNOT;
    }
    return code;
}
