/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines: commands, options, help, error messages */
#ifndef DNSD_ZONE_ARGS_H
#define DNSD_ZONE_ARGS_H

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
    const char *name;
    const char *usage;      /* "ZONE FILE... [-o IMAGE]" */
    const char *summary;    /* one line */
    const char *text;       /* further paragraphs, or NULL */
    const ArgOption *options;   /* ends with an option without a name */
    const ArgOption *shared;    /* more options, or NULL */
    size_t least;           /* words that are not options */
    size_t most;            /* 0: no limit */
    /* Returns: an exit code. */
    int (*run)(char **words, size_t count);
} ArgCommand;

/**
 * args_run: parse the words behind the command and run the command
 * @program: for messages
 *
 * Options may be anywhere; "--" ends them.
 *
 * Returns: the exit code.
 */
int args_run(const char *program, const ArgCommand *command, char **words,
             size_t count);

/** args_help: print the help of a command */
void args_help(const char *program, const ArgCommand *command);

/**
 * args_flush: flush standard output.  Returns: @code; on failure prints a
 * message and returns EXIT_CANNOT.
 */
int args_flush(int code);

#endif /* DNSD_ZONE_ARGS_H */
