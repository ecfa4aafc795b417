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
#include "dnsd/zone/commands.h"

int main(int argc, char **argv)
{
    static const ArgCommand *const commands[] = {
        &command_compile, &command_print, &command_check, &command_show,
        &command_diff, NULL,
    };
    static const ArgProgram program = {
        .name = "vmmnet-zone",
        .summary = "Zone images: DNS zones in the form in which they are "
                   "served.",
        .text = "exit status: 0 done, 1 it cannot be done and nothing is "
                "changed, 2 the command\nline is wrong, 3 'check' has found a "
                "fault or 'diff' a difference",
        .commands = commands,
    };

    return args_main(&program, argc, argv);
}
