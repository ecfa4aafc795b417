/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy-judge: the policy of virtio-vmrpc as a filter, for 'vmmnet policy'
 *
 * Standard input is a line with a number, a policy file of so many octets, and
 * questions; standard output has an answer for each, in the same order:
 *
 *   dest  tcp|udp|icmp ADDRESS PORT host|- [NAME]...
 *   name  NAME
 *   ->    allow|watch|deny REASON LINE ERRNO SAYS NAME
 *
 * "host": the address is one of the host's own.  The names are those of the
 * destination, the latest first.  An answer has "-" where there is no errno,
 * the stream may begin with anything, or no name was decisive, and line 0 if no
 * line was.  Before the answers there is a line "policy ID".
 *
 * The verdicts are the device's: this file has none of its own.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "hw/vmrpc/policy/policy-parse.h"

/* Of a question: those before the names, and more names than count */
#define WORDS_MAX       (5 + VMRPC_POLICY_MAX_NAMES)

/* Between words, and the end of a line */
#define BLANKS          "\n "

static const char *const protos[] = {
    [IPPROTO_ICMP] = "icmp",
    [IPPROTO_TCP] = "tcp",
    [IPPROTO_UDP] = "udp",
};

static void answer(int error, const VmrpcVerdict *why)
{
    static const char *const says[] = {
        [VMRPC_SAYS_ANYTHING] = "-",
        [VMRPC_SAYS_TLS] = "tls",
        [VMRPC_SAYS_HTTP] = "http",
    };

    printf("%s %s %u %s %s %s\n",
           error ? "deny" : vmrpc_verdict_is_watch(why->reason) ? "watch"
                                                                : "allow",
           vmrpc_verdict_name(why->reason), why->line,
           error ? strerrorname_np(-error) : "-", says[why->says],
           why->name ?: "-");
}

static bool read_number(const char *word, unsigned long most,
                        unsigned long *number)
{
    char *end;

    *number = strtoul(word, &end, 10);
    return g_ascii_isdigit(*word) && !*end && *number <= most;
}

static bool read_dest(char **words, size_t num, VmrpcDest *dest)
{
    unsigned long port;

    if (num < 5 || !read_number(words[3], UINT16_MAX, &port)) {
        return false;
    }
    *dest = (VmrpcDest) {
        .port = port, .is_local = strcmp(words[4], "host") == 0,
        .names = (const char *const *)words + 5, .num_names = num - 5,
    };
    for (size_t i = 0; i < G_N_ELEMENTS(protos); i++) {
        if (protos[i] && strcmp(words[1], protos[i]) == 0) {
            dest->proto = i;
        }
    }
    if (inet_pton(AF_INET, words[2], &dest->addr4) == 1) {
        dest->family = AF_INET;
    } else if (inet_pton(AF_INET6, words[2], &dest->addr6) == 1) {
        dest->family = AF_INET6;
    }
    return dest->proto && dest->family;
}

/* Returns: false if that is no question. */
static bool judge(const VmrpcPolicy *policy, char *question)
{
    char *words[WORDS_MAX] = { NULL };
    VmrpcVerdict why;
    VmrpcDest dest;
    size_t num = 0;
    char *rest;
    int error;

    for (char *word = strtok_r(question, BLANKS, &rest);
         word && num < WORDS_MAX; word = strtok_r(NULL, BLANKS, &rest)) {
        words[num++] = word;
    }
    if (num && strcmp(words[0], "dest") == 0 && read_dest(words, num, &dest)) {
        answer(vmrpc_policy_check(policy, &dest, &why), &why);
        return true;
    }
    if (num == 2 && strcmp(words[0], "name") == 0) {
        error = vmrpc_policy_check_name(policy, words[1], &why);
        /* A question is no stream. */
        why.says = VMRPC_SAYS_ANYTHING;
        answer(error, &why);
        return true;
    }
    return false;
}

/* Returns: the policy on standard input, or NULL after a message. */
static VmrpcPolicy *read_policy(const char *name)
{
    g_autofree char *text = g_malloc(VMRPC_POLICY_MAX_TEXT + 1);
    g_autoptr(GError) err = NULL;
    VmrpcPolicy *policy;
    unsigned long size;
    char line[32] = "";
    bool has_size;

    if (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
    }
    has_size = read_number(line, ULONG_MAX, &size);
    /* One octet too many is the parser's to refuse. */
    size = MIN(size, VMRPC_POLICY_MAX_TEXT + 1);
    if (!has_size || fread(text, 1, size, stdin) < size) {
        args_say("standard input does not begin with a policy and its size");
        return NULL;
    }
    policy = vmrpc_policy_parse(text, size, name, &err);
    if (!policy) {
        fprintf(stderr, "%s\n", err->message);
    }
    return policy;
}

static int run(char **words, size_t count)
{
    g_autoptr(VmrpcPolicy) policy = read_policy(words[0]);
    char *question = NULL;
    size_t room = 0;
    int code = EXIT_DONE;

    if (!policy) {
        return EXIT_CANNOT;
    }
    printf("policy %s\n", vmrpc_policy_id(policy));
    while (code == EXIT_DONE && getline(&question, &room, stdin) > 0) {
        if (!judge(policy, question)) {
            code = args_cannot("there is no such question");
        }
    }
    free(question);
    return args_flush(code);
}

int main(int argc, char **argv)
{
    static const ArgCommand command = {
        .usage = "NAME",
        .summary = "Answer questions about a policy, for the command 'vmmnet "
                   "policy'.",
        .text = "Standard input has the size of a policy file in octets, and a "
                "newline; the file;\nand questions. NAME is the file's, for "
                "errors.",
        .least = 1, .most = 1, .run = run,
    };
    static const ArgCommand *const commands[] = { &command, NULL };
    static const ArgProgram program = {
        .name = "policy-judge", .commands = commands,
    };

    return args_main(&program, argc, argv);
}
