/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines: commands, options, help, error messages
 *
 * All programs have the same rules. Options may be anywhere; "--" ends them.
 * --help is made from the tables, --version is there. A name is not
 * abbreviated: what is short for one option today is short for two tomorrow, in
 * a script that nobody looks at. The message says the option's name, or the
 * nearest one.
 */
#ifndef BASE_ARGS_H
#define BASE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes, the same as of the command vmmnet */
enum {
    EXIT_DONE = 0,
    EXIT_CANNOT = 1,        /* and nothing is changed */
    EXIT_USAGE = 2,
    EXIT_FOUND = 3,         /* check has found a fault, diff a difference */
};

typedef enum ArgKind {
    ARG_FLAG,               /* bool */
    ARG_TEXT,               /* const char * */
    ARG_SIZE,               /* uint64_t: octets, with K, M or G */
    ARG_NUMBER,             /* uint64_t */
    ARG_CHOICE,             /* unsigned: index in @choices */
} ArgKind;

typedef struct ArgOption {
    const char *name;       /* without the hyphens */
    char letter;            /* 0: none */
    ArgKind kind;
    const char *value;      /* "SIZE", for the help; NULL for a flag */
    const char *help;
    void *to;
    uint64_t least;         /* bounds of sizes and numbers */
    uint64_t most;
    const char *const *choices;     /* ends with NULL */
    bool *given;            /* NULL, or set if the option was given */
} ArgOption;

typedef struct ArgCommand {
    const char *name;       /* NULL: what the program does without a command */
    const char *usage;      /* "ZONE FILE... [-o IMAGE]" */
    const char *summary;    /* one line */
    const char *text;       /* further paragraphs, or NULL */
    const ArgOption *options;   /* ends with one without a name; or NULL */
    const ArgOption *shared;    /* more options, or NULL */
    size_t least;           /* words that are not options */
    size_t most;            /* ARG_ANY: no limit */
    /* Returns: an exit code. */
    int (*run)(char **words, size_t count);
} ArgCommand;

#define ARG_ANY SIZE_MAX

typedef struct ArgProgram {
    const char *name;
    const char *summary;    /* NULL: that of the command without a name */
    const char *text;       /* further paragraphs, or NULL */
    const ArgCommand *const *commands;  /* ends with NULL */
} ArgProgram;

/**
 * args_main: parse the command line and run its command
 *
 * Returns: the exit code; EXIT_USAGE after a message
 */
int args_main(const ArgProgram *program, int argc, char **argv);

/** args_wrong: print a message about the command line. Returns: EXIT_USAGE */
int args_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** args_say: print a line to standard error, behind the program and command */
void args_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** args_cannot: the same.  Returns: EXIT_CANNOT */
#define args_cannot(...) (args_say(__VA_ARGS__), EXIT_CANNOT)

/**
 * args_flush: flush standard output.  Returns: @code; on failure prints a
 * message and returns EXIT_CANNOT.
 */
int args_flush(int code);

#endif /* BASE_ARGS_H */
