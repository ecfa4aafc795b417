/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines: commands, options, help, error messages */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "base/nearest.h"

#define LINE    79      /* columns of the help */
#define INDENT  26

typedef struct Parser {
    const ArgProgram *program;
    const ArgCommand *command;
    char **words;
    size_t count;
    size_t at;
    char **kept;            /* the words that are not options */
    size_t kept_count;
} Parser;

/* Messages name the command that runs: a process has one command line. */
static Parser running;

static const char *space(const ArgCommand *command)
{
    return command && command->name ? " " : "";
}

static const char *name_of(const ArgCommand *command)
{
    return command && command->name ? command->name : "";
}

static int complain(const Parser *p)
{
    fprintf(stderr, "; see '%s%s%s --help'\n", p->program->name,
            space(p->command), name_of(p->command));
    return EXIT_USAGE;
}

static void begin_complaint(const Parser *p)
{
    fprintf(stderr, "%s%s%s: ", p->program->name, space(p->command),
            name_of(p->command));
}

int args_wrong(const char *format, ...)
{
    va_list args;

    begin_complaint(&running);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    return complain(&running);
}

void args_say(const char *format, ...)
{
    va_list args;

    begin_complaint(&running);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
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

/* Has @word, "--name" or "--name=value", the option's name or its beginning? */
static bool begins(const ArgOption *o, const char *word, bool *whole)
{
    size_t len = strcspn(word + 2, "=");

    *whole = strlen(o->name) == len;
    return word[1] == '-' && len && !strncmp(o->name, word + 2, len);
}

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

static const ArgOption standard[] = {
    { .name = "help", .letter = 'h' }, { .name = "version" }, { 0 },
};

/* The option that an unknown "--name" begins, or is like; or NULL */
static const ArgOption *guess(const Parser *p, const char *word, bool *is_short)
{
    const ArgOption *const tables[] = {
        p->command->options, p->command->shared, standard,
    };
    const ArgOption *like = NULL;
    char name[64];
    bool whole;

    *is_short = true;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        for (const ArgOption *o = tables[i]; o && o->name; o++) {
            if (begins(o, word, &whole)) {
                return o;
            }
            if (word_is_like(name, o->name) &&
                (!like || word_distance(name, o->name) <
                          word_distance(name, like->name))) {
                like = o;
            }
        }
    }
    *is_short = false;
    return like;
}

static int refuse_unknown(const Parser *p, const char *word)
{
    bool is_short;
    const ArgOption *o = word[1] == '-' ? guess(p, word, &is_short) : NULL;

    begin_complaint(p);
    fprintf(stderr, "there is no option %.*s", (int)strcspn(word, "="), word);
    if (o && is_short) {
        fprintf(stderr, ": write --%s, as no name is abbreviated", o->name);
    } else if (o) {
        fprintf(stderr, " (did you mean --%s?)", o->name);
    }
    return complain(p);
}

static int take_option(Parser *p, const char *word)
{
    const char *value;
    const ArgOption *o = find(p, word, &value);

    if (!o) {
        return refuse_unknown(p, word);
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
    if (p->kept_count > c->most) {
        begin_complaint(p);
        fprintf(stderr, "'%s' is one word more than it takes: %s",
                p->kept[c->most], c->usage);
        return complain(p);
    }
    return 0;
}

static int run(const ArgProgram *program, const ArgCommand *command,
               char **words, size_t count)
{
    Parser *p = &running;
    int ret;

    *p = (Parser) { program, command, words, count, 0, NULL, 0 };
    p->kept = calloc(count + 1, sizeof(*p->kept));
    if (!p->kept) {
        perror(program->name);
        return EXIT_CANNOT;
    }
    ret = take_words(p);
    ret = ret ? ret : check_count(p);
    ret = ret ? ret : command->run(p->kept, p->kept_count);
    free(p->kept);
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

static void print_usage(const ArgProgram *program, const ArgCommand *command,
                        const char *head)
{
    printf("%s %s%s%s %s\n", head, program->name, space(command),
           name_of(command), command->usage);
}

static void print_texts(const char *summary, const char *text)
{
    printf("\n%s\n", summary);
    if (text) {
        printf("\n%s\n", text);
    }
}

static void print_all_options(const ArgCommand *command)
{
    puts("\noptions:");
    if (command) {
        print_options(command->options);
        print_options(command->shared);
    }
    puts("  -h, --help              this text");
}

static int help_command(const ArgProgram *program, const ArgCommand *command)
{
    print_usage(program, command, "usage:");
    print_texts(command->summary, command->text);
    print_all_options(command);
    return args_flush(EXIT_DONE);
}

/* The command without a name; or NULL */
static const ArgCommand *without_name(const ArgProgram *program)
{
    for (size_t i = 0; program->commands[i]; i++) {
        if (!program->commands[i]->name) {
            return program->commands[i];
        }
    }
    return NULL;
}

static int help_program(const ArgProgram *program)
{
    const ArgCommand *own = without_name(program);

    if (own) {
        print_usage(program, own, "usage:");
        for (size_t i = 0; program->commands[i]; i++) {
            if (program->commands[i]->name) {
                print_usage(program, program->commands[i], "      ");
            }
        }
    } else {
        printf("usage: %s COMMAND ...\n", program->name);
    }
    print_texts(program->summary ? program->summary : own->summary,
                own ? own->text : NULL);
    if (own) {
        print_all_options(own);
        puts("      --version           the version");
    }
    puts("\ncommands:");
    for (size_t i = 0; program->commands[i]; i++) {
        if (program->commands[i]->name) {
            printf("  %-10s %s\n", program->commands[i]->name,
                   program->commands[i]->summary);
        }
    }
    printf("\n'%s COMMAND --help' has the options of each.\n", program->name);
    if (program->text) {
        printf("\n%s\n", program->text);
    }
    return args_flush(EXIT_DONE);
}

int args_flush(int code)
{
    if (fflush(stdout) || ferror(stdout)) {
        return args_cannot("standard output: %s", strerror(errno));
    }
    return code;
}

/* --- the program ---------------------------------------------------------- */

static const ArgCommand *command_of(const ArgProgram *program,
                                    const char *word)
{
    for (size_t i = 0; program->commands[i]; i++) {
        const ArgCommand *c = program->commands[i];

        if (c->name && !strcmp(c->name, word)) {
            return c;
        }
    }
    return NULL;
}

/* Has any command an option @word that takes the next word as its value? */
static bool takes_next(const ArgProgram *program, const char *word)
{
    for (size_t i = 0; program->commands[i]; i++) {
        Parser p = { .command = program->commands[i] };
        const char *value;
        const ArgOption *o = find(&p, word, &value);

        if (o) {
            return o->kind != ARG_FLAG && !value;
        }
    }
    return false;
}

/* The index of the first word that is no option; @count: there is none */
static size_t first_word(const ArgProgram *program, char **words, size_t count)
{
    size_t i = 0;

    while (i < count && words[i][0] == '-' && words[i][1]) {
        if (!strcmp(words[i], "--")) {
            return count;
        }
        i += 1 + takes_next(program, words[i]);
    }
    return i < count ? i : count;
}

static bool has_option(char **words, size_t count, const char *name)
{
    for (size_t i = 0; i < count && strcmp(words[i], "--"); i++) {
        if (!strcmp(words[i], name)) {
            return true;
        }
    }
    return false;
}

static bool wants_help(char **words, size_t count)
{
    return has_option(words, count, "--help") ||
           has_option(words, count, "-h");
}

/* The command that a word is like; or NULL */
static const ArgCommand *nearest_command(const ArgProgram *program,
                                         const char *word)
{
    const ArgCommand *like = NULL;

    for (size_t i = 0; program->commands[i]; i++) {
        const ArgCommand *c = program->commands[i];

        if (c->name && word_is_like(word, c->name) &&
            (!like || word_distance(word, c->name) <
                      word_distance(word, like->name))) {
            like = c;
        }
    }
    return like;
}

static int reject(const ArgProgram *program, const char *word)
{
    const ArgCommand *like = nearest_command(program, word);
    const char *before = " ";

    fprintf(stderr, "%s: '%s' is no command", program->name, word);
    if (like) {
        fprintf(stderr, " (did you mean '%s'?)", like->name);
    }
    fputs("; there are", stderr);
    for (size_t i = 0; program->commands[i]; i++) {
        if (program->commands[i]->name) {
            fprintf(stderr, "%s%s", before, program->commands[i]->name);
            before = ", ";
        }
    }
    fputs("\n", stderr);
    return EXIT_USAGE;
}

/* Is the first word, which is no command, rather a slip than a file's name? */
static bool is_slip(const ArgProgram *program, const char *word)
{
    return nearest_command(program, word) && access(word, F_OK) < 0;
}

int args_main(const ArgProgram *program, int argc, char **argv)
{
    char **words = argv + 1;
    size_t count = argc > 1 ? argc - 1 : 0;
    size_t at = first_word(program, words, count);
    const ArgCommand *command = at < count ? command_of(program, words[at])
                                           : NULL;
    const ArgCommand *own = without_name(program);

    running = (Parser) { .program = program };
    if (command) {
        /* Options may stand before it. */
        memmove(words + 1, words, at * sizeof(*words));
        return wants_help(words + 1, count - 1)
               ? help_command(program, command)
               : run(program, command, words + 1, count - 1);
    }
    if (wants_help(words, at)) {
        return help_program(program);
    }
    if (has_option(words, at, "--version")) {
        printf("%s %s\n", program->name, VMMNET_VERSION);
        return args_flush(EXIT_DONE);
    }
    if (at < count && (!own || is_slip(program, words[at]))) {
        return reject(program, words[at]);
    }
    if (!own) {
        return args_wrong("no command");
    }
    return wants_help(words, count) ? help_program(program)
                                    : run(program, own, words, count);
}
