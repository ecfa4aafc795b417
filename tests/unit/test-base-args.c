/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/args: command lines of programs with and without a command of no name */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/args.h"
#include "base/nearest.h"

/* --- a program ------------------------------------------------------------ */

static GString *seen;
static bool verbose;
static const char *socket_path;
static uint64_t memory;
static unsigned color;

static int note(const char *command, char **words, size_t count)
{
    g_string_append(seen, command);
    for (size_t i = 0; i < count; i++) {
        g_string_append_printf(seen, " %s", words[i]);
    }
    return EXIT_DONE;
}

static int serve(char **words, size_t count)
{
    return note("serve", words, count);
}

static int show(char **words, size_t count)
{
    return count && g_str_equal(words[0], "odd")
           ? args_wrong("'%s' is odd", words[0]) : note("show", words, count);
}

static const char *const colors[] = { "red", "green", NULL };

static const ArgOption serve_options[] = {
    { .name = "verbose", .letter = 'v', .to = &verbose, .help = "say more" },
    { .name = "memory", .kind = ARG_SIZE, .value = "SIZE", .to = &memory,
      .least = 1024, .most = 1 << 20, .help = "how much" },
    { .name = "color", .kind = ARG_CHOICE, .value = "COLOR", .to = &color,
      .choices = colors, .help = "which" },
    { 0 },
};

static const ArgOption shared[] = {
    { .name = "socket", .letter = 's', .kind = ARG_TEXT, .value = "PATH",
      .to = &socket_path, .help = "where" },
    { 0 },
};

static const ArgCommand serve_command = {
    .usage = "[FILE]", .summary = "Serve FILE.", .options = serve_options,
    .shared = shared, .most = 1, .run = serve,
};

static const ArgCommand show_command = {
    .name = "show", .usage = "NAME...", .summary = "show NAME",
    .shared = shared, .least = 1, .most = ARG_ANY, .run = show,
};

static const ArgCommand *const both[] = { &serve_command, &show_command, NULL };
static const ArgCommand *const named[] = { &show_command, NULL };

static const ArgProgram daemon_program = { .name = "d", .commands = both };
static const ArgProgram tool_program = {
    .name = "t", .summary = "A tool.", .commands = named,
};

/* --- runs ----------------------------------------------------------------- */

typedef struct Run {
    int code;
    char *out, *err;
} Run;

static char *take(int fd, int saved, FILE *stream)
{
    off_t len;
    char *text;

    fflush(stream);
    len = lseek(fd, 0, SEEK_END);
    text = g_malloc0(len + 1);
    g_assert_cmpint(pread(fd, text, len, 0), ==, len);
    dup2(saved, fileno(stream));
    close(saved);
    close(fd);
    return text;
}

static int catch(FILE *stream, int *saved)
{
    int fd = memfd_create("stream", 0);

    fflush(stream);
    *saved = dup(fileno(stream));
    dup2(fd, fileno(stream));
    return fd;
}

/* Runs "NAME WORDS"; the words are separated by blanks. */
static Run run(const ArgProgram *program, const char *words)
{
    g_autofree char *line = g_strdup_printf("%s%s%s", program->name,
                                            *words ? " " : "", words);
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    g_autofree char **all = g_new0(char *, g_strv_length(argv) + 1);
    int out, err, saved_out, saved_err;
    Run r;

    for (size_t i = 0; argv[i]; i++) {
        all[i] = (char *)g_intern_string(argv[i]);  /* options keep it */
    }
    g_string_truncate(seen, 0);
    verbose = false;
    socket_path = NULL;
    memory = color = 0;
    out = catch(stdout, &saved_out);
    err = catch(stderr, &saved_err);
    r.code = args_main(program, g_strv_length(argv), all);
    r.out = take(out, saved_out, stdout);
    r.err = take(err, saved_err, stderr);
    return r;
}

static void run_free(Run *r)
{
    g_free(r->out);
    g_free(r->err);
}

static void assert_done(const ArgProgram *program, const char *words,
                        const char *result)
{
    Run r = run(program, words);

    g_assert_cmpstr(r.err, ==, "");
    g_assert_cmpint(r.code, ==, EXIT_DONE);
    g_assert_cmpstr(seen->str, ==, result);
    run_free(&r);
}

static void test_right(void)
{
    assert_done(&daemon_program, "", "serve");
    assert_done(&daemon_program, "file --verbose", "serve file");
    g_assert_true(verbose);
    assert_done(&daemon_program, "-v --memory 64K --color=green", "serve");
    g_assert_cmpuint(memory, ==, 65536);
    g_assert_cmpuint(color, ==, 1);
    assert_done(&daemon_program, "show a b --socket=/s", "show a b");
    g_assert_cmpstr(socket_path, ==, "/s");
    /* The value of an option is no command. */
    assert_done(&daemon_program, "--socket show", "serve");
    g_assert_cmpstr(socket_path, ==, "show");
    assert_done(&daemon_program, "-s /s show a", "show a");
    g_assert_cmpstr(socket_path, ==, "/s");
    assert_done(&daemon_program, "-s/s show -- -v", "show -v");
    assert_done(&daemon_program, "-- show", "serve show");
    assert_done(&tool_program, "show -", "show -");
}

static void test_wrong(void)
{
    static const struct {
        const ArgProgram *program;
        const char *words, *message;
    } cases[] = {
        /* abbreviated, in any length */
        { &daemon_program, "--verb", "d: there is no option --verb: write "
          "--verbose, as no name is abbreviated; see 'd --help'\n" },
        { &daemon_program, "--s=/x", "d: there is no option --s: write "
          "--socket, as no name is abbreviated; see 'd --help'\n" },
        { &daemon_program, "show a --sock /x", "d show: there is no option "
          "--sock: write --socket, as no name is abbreviated; see 'd show "
          "--help'\n" },
        { &daemon_program, "show a --hel", "d show: there is no option --hel: "
          "write --help, as no name is abbreviated; see 'd show --help'\n" },
        { &daemon_program, "--sokcet=/x", "d: there is no option --sokcet (did "
          "you mean --socket?); see 'd --help'\n" },
        { &daemon_program, "--frobnicate", "d: there is no option "
          "--frobnicate; see 'd --help'\n" },
        { &daemon_program, "-x", "d: there is no option -x; see 'd --help'\n" },
        /* of another command */
        { &daemon_program, "show a --memory=1M", "d show: there is no option "
          "--memory; see 'd show --help'\n" },
        { &daemon_program, "--verbose=1", "d: option --verbose takes no value, "
          "but has '1'; see 'd --help'\n" },
        { &daemon_program, "--socket", "d: option --socket needs a value, "
          "PATH; see 'd --help'\n" },
        { &daemon_program, "--memory 2M", "d: option --memory: '2M' is no size "
          "from 1024 to 1048576 octets, such as 64M; see 'd --help'\n" },
        { &daemon_program, "--color blue", "d: option --color: 'blue' is none "
          "of red, green; see 'd --help'\n" },
        { &daemon_program, "one two", "d: 'two' is one word more than it "
          "takes: [FILE]; see 'd --help'\n" },
        { &daemon_program, "show", "d show: it needs more: NAME...; see 'd "
          "show --help'\n" },
        { &daemon_program, "show odd", "d show: 'odd' is odd; see 'd show "
          "--help'\n" },
        { &daemon_program, "shwo", "d: 'shwo' is no command (did you mean "
          "'show'?); there are show\n" },
        { &tool_program, "frobnicate", "t: 'frobnicate' is no command; there "
          "are show\n" },
        { &tool_program, "", "t: no command; see 't --help'\n" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Run r = run(cases[i].program, cases[i].words);

        g_assert_cmpstr(r.err, ==, cases[i].message);
        g_assert_cmpint(r.code, ==, EXIT_USAGE);
        g_assert_cmpstr(r.out, ==, "");
        g_assert_cmpstr(seen->str, ==, "");
        run_free(&r);
    }
}

static void test_help(void)
{
    static const struct {
        const ArgProgram *program;
        const char *words, *begin, *has;
    } cases[] = {
        { &daemon_program, "--help",
          "usage: d [FILE]\n       d show NAME...\n\nServe FILE.\n\noptions:\n"
          "  -v, --verbose           say more\n",
          "\ncommands:\n  show       show NAME\n" },
        { &daemon_program, "-h", "usage: d [FILE]\n", "  -s, --socket PATH  " },
        { &daemon_program, "x --help", "usage: d [FILE]\n", "--version" },
        { &daemon_program, "show --help", "usage: d show NAME...\n",
          "  -h, --help              this text\n" },
        { &tool_program, "--help", "usage: t COMMAND ...\n\nA tool.\n",
          "'t COMMAND --help' has the options of each.\n" },
        { &tool_program, "--version", "t ", "\n" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Run r = run(cases[i].program, cases[i].words);

        g_assert_cmpint(r.code, ==, EXIT_DONE);
        g_assert_true(g_str_has_prefix(r.out, cases[i].begin));
        g_assert_nonnull(strstr(r.out, cases[i].has));
        g_assert_cmpstr(r.err, ==, "");
        g_assert_cmpstr(seen->str, ==, "");
        run_free(&r);
    }
}

static void test_nearest(void)
{
    g_assert_cmpuint(word_distance("kitten", "sitting"), ==, 3);
    g_assert_cmpuint(word_distance("", "abc"), ==, 3);
    g_assert_cmpuint(word_distance("abc", "abc"), ==, 0);
    g_assert_true(word_is_like("relaod", "reload"));
    g_assert_false(word_is_like("serve", "reload"));
    g_assert_false(word_is_like("cat", "dog"));
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    seen = g_string_new(NULL);
    g_test_add_func("/base/args/right", test_right);
    g_test_add_func("/base/args/wrong", test_wrong);
    g_test_add_func("/base/args/help", test_help);
    g_test_add_func("/base/args/nearest", test_nearest);
    ret = g_test_run();
    g_string_free(seen, true);
    return ret;
}
