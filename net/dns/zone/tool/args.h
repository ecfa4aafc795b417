/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines: commands, their options, help, mistakes */
#ifndef NET_DNS_ZONE_TOOL_ARGS_H
#define NET_DNS_ZONE_TOOL_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes, as those of the command vmmnet */
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
    uint64_t least;         /* of sizes and numbers */
    uint64_t most;
    const char *const *choices;     /* ends with NULL */
    bool *given;            /* NULL, or set if the option is there */
} ArgOption;

typedef struct ArgCommand {
    const char *name;
    const char *usage;      /* "ZONE FILE... [-o IMAGE]" */
    const char *summary;    /* one line */
    const char *text;       /* further paragraphs, or NULL */
    const ArgOption *options;   /* ends with one without a name */
    const ArgOption *shared;    /* further ones, or NULL */
    size_t least;           /* other words than options */
    size_t most;            /* 0: no limit */
    /* Returns: an exit code. */
    int (*run)(char **words, size_t count);
} ArgCommand;

/**
 * args_run: take the words behind the command and run it
 * @program: for messages
 *
 * Options may stand anywhere, "--" ends them.
 *
 * Returns: the exit code.
 */
int args_run(const char *program, const ArgCommand *command, char **words,
             size_t count);

/** args_help: of a command, to standard output. */
void args_help(const char *program, const ArgCommand *command);

/** args_flush: standard output; EXIT_CANNOT, and said why, if it failed. */
int args_flush(int code);

#endif /* NET_DNS_ZONE_TOOL_ARGS_H */
