/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-zone: zone images
 *
 *     vmmnet-zone compile ZONE FILE... [-o IMAGE]
 *     vmmnet-zone print IMAGE
 *     vmmnet-zone check IMAGE | --zone ZONE FILE...
 *     vmmnet-zone show IMAGE [NAME [TYPE]]
 *     vmmnet-zone diff OLD NEW
 */
#include <stdio.h>
#include <string.h>

#include "dnsd/zone/commands.h"

static const ArgCommand *const commands[] = {
    &command_compile, &command_print, &command_check, &command_show,
    &command_diff,
};

#define COMMANDS (sizeof(commands) / sizeof(*commands))

static int show_help(void)
{
    puts("usage: " PROGRAM " COMMAND ...\n\n"
         "Zone images: DNS zones in the form in which they are served.\n\n"
         "commands:");
    for (size_t i = 0; i < COMMANDS; i++) {
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    puts("\n'" PROGRAM " COMMAND --help' has the options of each.\n\n"
         "exit status: 0 done, 1 it cannot be done and nothing is changed, "
         "2 the command\nline is wrong, 3 'check' has found a fault or 'diff' "
         "a difference");
    return args_flush(EXIT_DONE);
}

static int reject(const char *word)
{
    fprintf(stderr, PROGRAM ": '%s' is no command; there are", word);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(stderr, "%s %s", i ? "," : "", commands[i]->name);
    }
    fputs("\n", stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs(PROGRAM ": no command; see '" PROGRAM " --help'\n", stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        return show_help();
    }
    if (!strcmp(argv[1], "--version")) {
        puts(PROGRAM " " VMMNET_VERSION);
        return args_flush(EXIT_DONE);
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (!strcmp(argv[1], commands[i]->name)) {
            return args_run(PROGRAM, commands[i], argv + 2, argc - 2);
        }
    }
    return reject(argv[1]);
}
