/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/control: the control socket of a daemon, and bad clients */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/control.h"
#include "base/json.h"
#include "base/listener.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/units.h"

#define PARTS       100u
#define PART_LEN    5000u

typedef struct Daemon {
    char *folder, *path;
    BaseControl *control;
    GString *log;
    unsigned parts, ends, sessions, again;
    gint is_over;               /* for pump() */
} Daemon;

/* --- a daemon ------------------------------------------------------------- */

static bool echo(void *opaque, BaseControlClient *c, char **words,
                 unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        base_control_printf(c, "<%s>", words[i]);
    }
    base_control_write(c, "\n", 1);
    return true;
}

static bool refuse(void *opaque, BaseControlClient *c, char **words,
                   unsigned count)
{
    return base_control_fail(c, "first\nlast\n");
}

static BaseControlPart part(void *state, BaseControlClient *c)
{
    g_autofree char *text = g_strnfill(PART_LEN - 1, 'x');
    Daemon *d = state;

    base_control_printf(c, "%s\n", text);
    return ++d->parts < PARTS ? BASE_CONTROL_MORE : BASE_CONTROL_LAST;
}

static void part_end(void *state)
{
    ((Daemon *)state)->ends++;
}

static bool parts(void *opaque, BaseControlClient *c, char **words,
                  unsigned count)
{
    ((Daemon *)opaque)->parts = 0;
    base_control_stream(c, part, part_end, opaque);
    return true;
}

static void *begin(void *opaque, int fd, uid_t uid)
{
    ((Daemon *)opaque)->sessions++;
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpuint(uid, ==, getuid());
    return g_new0(unsigned, 1);
}

static void end(void *opaque, void *session)
{
    ((Daemon *)opaque)->sessions--;
    g_free(session);
}

/* Each line has the number of those before it in this session. */
static void numbered(void *opaque, BaseControlClient *c, void *session,
                     const char *text, size_t len)
{
    unsigned *number = session;

    base_control_printf(c, "%u %zu\nok\n", (*number)++, len);
}

static void log_line(void *opaque, bool good, const char *text)
{
    g_string_append_printf(((Daemon *)opaque)->log, "%s\n", text);
}

static void again(void *opaque)
{
    ((Daemon *)opaque)->again++;
}

static const BaseControlVerb verbs[] = {
    { .name = "echo", .least = 1, .most = 2, .run = echo },
    { .name = "refuse", .run = refuse },
    { .name = "parts", .run = parts },
    { 0 },
};

static const BaseControlOps plain_ops = {
    .verbs = verbs, .log = log_line, .again = again,
};

static const BaseControlOps session_ops = {
    .verbs = verbs, .line = numbered, .begin = begin, .end = end,
    .log = log_line,
};

static void set_up(Daemon *d, gconstpointer ops)
{
    d->folder = g_dir_make_tmp("control-XXXXXX", NULL);
    d->path = g_build_filename(d->folder, "s", NULL);
    d->log = g_string_new(NULL);
    d->control = base_control_new(d->path, 0600, ops, d);
    g_assert_nonnull(d->control);
}

static void tear_down(Daemon *d, gconstpointer data)
{
    base_control_free(d->control);
    g_assert_cmpuint(d->sessions, ==, 0);
    g_assert_cmpint(g_rmdir(d->folder), ==, 0);
    g_string_free(d->log, TRUE);
    g_free(d->path);
    g_free(d->folder);
}

/* --- its clients ---------------------------------------------------------- */

static void serve(Daemon *d)
{
    struct pollfd poller = { base_control_fd(d->control), POLLIN, 0 };

    while (poll(&poller, 1, 0) > 0) {
        base_control_ready(d->control);
    }
}

static int client_new(Daemon *d)
{
    int fd = base_listener_connect(d->path);

    g_assert_cmpint(fd, >=, 0);
    serve(d);
    return fd;
}

static void say(Daemon *d, int fd, const char *text)
{
    g_assert_cmpint(send(fd, text, strlen(text), MSG_NOSIGNAL), ==,
                    strlen(text));
    serve(d);
}

/* Reads what has come.  Returns: is the connection over? */
static bool hear(int fd, GString *to)
{
    char text[4096];
    ssize_t len;

    while ((len = recv(fd, text, sizeof(text), MSG_DONTWAIT)) > 0) {
        g_string_append_len(to, text, len);
    }
    return len == 0 || errno == ECONNRESET;
}

static void assert_heard(int fd, const char *text)
{
    g_autoptr(GString) heard = g_string_new(NULL);

    g_assert_false(hear(fd, heard));
    g_assert_cmpstr(heard->str, ==, text);
}

static void assert_over(int fd, const char *text)
{
    g_autoptr(GString) heard = g_string_new(NULL);

    g_assert_true(hear(fd, heard));
    g_assert_cmpstr(heard->str, ==, text);
    close(fd);
}

/* --- tests ---------------------------------------------------------------- */

static void test_lines(Daemon *d, gconstpointer data)
{
    int fd = client_new(d);

    say(d, fd, "echo a\necho b c\n");
    assert_heard(fd, "<a>\nok\n<b><c>\nok\n");
    say(d, fd, "refuse\n");
    assert_heard(fd, "first\nerror last\n");
    say(d, fd, "echo\necho a b c\nrefuse x\n");
    assert_heard(fd, "error echo: a word is missing\n"
                 "error echo: 'c' is unexpected\n"
                 "error refuse: 'x' is unexpected\n");
    say(d, fd, "echoes\n\necho \x01\necho 1 2 3 4 5 6 7 8 9\n");
    assert_heard(fd, "error 'echoes' is not one of log, echo, refuse, parts\n"
                 "error '' is not one of log, echo, refuse, parts\n"
                 "error echo: this is no line of at most 8 words\n"
                 "error echo: this is no line of at most 8 words\n");
    close(fd);
}

static void test_log(Daemon *d, gconstpointer data)
{
    int fd = client_new(d);

    say(d, fd, "log\nlog debug\n");
    assert_heard(fd, "log level notice\nok\nlog level debug\nok\n");
    g_assert_true(base_log_has(LOG_DEBUG));
    say(d, fd, "log loud\nlog emerg\nlog error\n");
    assert_heard(fd, "error log: 'loud' is not error, warning, notice or debug\n"
                 "error log: 'emerg' is not error, warning, notice or debug\n"
                 "log level error\nok\n");
    g_assert_false(base_log_has(LOG_WARNING));
    g_assert_true(base_log_set_level("notice"));
    close(fd);
}

static void log_all(void)
{
    base_log_begin("test");
    base_log(LOG_NOTICE, "notice %d", 1);
    base_debug("debug");
    g_debug("debug");
    g_message("message");
    g_assert_true(base_log_set_level("warning"));
    base_log(LOG_NOTICE, "notice 2");
    base_log(LOG_WARNING, "warning");
    base_log(LOG_ERR, "%*s", 5000, "long");
}

static void test_log_lines(void)
{
    g_autofree char *stream = NULL, *blanks = g_strnfill(4088, ' ');
    g_autofree char *lines = g_strdup_printf(
        "test: notice 1\ntest: message\ntest: warning\ntest: %s\n", blanks);
    struct stat at;

    if (g_test_subprocess()) {
        if (!fstat(STDERR_FILENO, &at) && g_getenv("TEST_JOURNAL")) {
            stream = g_strdup_printf("%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT,
                                     (guint64)at.st_dev, (guint64)at.st_ino);
            g_setenv("JOURNAL_STREAM", stream, true);
        }
        log_all();
        return;
    }
    /* That of a parent, whose standard error is not ours */
    g_setenv("JOURNAL_STREAM", "1:1", true);
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    g_test_trap_assert_stderr(lines);
    g_setenv("TEST_JOURNAL", "1", true);
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    g_test_trap_assert_stderr("<5>notice 1\n<5>message\n<4>warning\n<3> *\n");
}

/* Two lines at once, then one a second; and a line of those left out */
static void test_log_limit(gconstpointer start)
{
    static const BaseLogRate rate = { SECOND, 2 };
    BaseLogLimit limit = { 0 };
    int64_t now = GPOINTER_TO_SIZE(start) * SECOND;

    g_assert_true(base_log_may(&limit, &rate, now));
    g_assert_true(base_log_may(&limit, &rate, now));
    g_assert_cmpuint(base_log_left_out(&limit, &rate, now), ==, 0);
    g_assert_false(base_log_may(&limit, &rate, now));
    g_assert_false(base_log_may(&limit, &rate, now + SECOND - 1));
    g_assert_cmpuint(base_log_left_out(&limit, &rate, now), ==, 0);
    now += SECOND;
    g_assert_cmpuint(base_log_left_out(&limit, &rate, now), ==, 2);
    g_assert_false(base_log_may(&limit, &rate, now));
    now += SECOND;
    g_assert_true(base_log_may(&limit, &rate, now));
    g_assert_cmpuint(limit.left_out, ==, 1);
}

static void put(void *opaque, const char *text, size_t len)
{
    g_string_append_len(opaque, text, len);
}

/* Values in objects and arrays */
static void test_json_values(void)
{
    g_autoptr(GString) string = g_string_new(NULL);
    BaseJson j = { { put, string } };

    base_json_open(&j, NULL, '{');
    base_json_open(&j, "none", '[');
    base_json_close(&j, ']');
    base_json_number(&j, "number", UINT64_MAX);
    base_json_open(&j, "some", '[');
    for (unsigned i = 0; i < 2; i++) {
        base_json_open(&j, NULL, '{');
        base_json_bool(&j, "last", i);
        base_json_text(&j, "text", "\"");
        base_json_close(&j, '}');
    }
    base_json_close(&j, ']');
    base_json_close(&j, '}');
    g_assert_cmpstr(string->str, ==, "{\"none\": [], "
                    "\"number\": 18446744073709551615, \"some\": "
                    "[{\"last\": false, \"text\": \"\\\"\"}, "
                    "{\"last\": true, \"text\": \"\\\"\"}]}");
}

static void test_metrics(void)
{
    g_autoptr(GString) string = g_string_new(NULL);
    BaseMetrics m = { { put, string }, "x_" };

    base_metric_only(&m, "one", "gauge", "Help.", 1);
    base_metric(&m, "two", "counter", NULL);
    base_metric_value(&m, "two", "of", "a\"\\\nb", 2);
    g_assert_cmpstr(string->str, ==, "# HELP x_one Help.\n# TYPE x_one gauge\n"
                    "x_one 1\n# TYPE x_two counter\n"
                    "x_two{of=\"a\\\"\\\\\\nb\"} 2\n");
}

static void assert_json(const char *text, const char *expected)
{
    g_autoptr(GString) string = g_string_new(NULL);

    base_json_string(&(BaseOut) { put, string }, text);
    g_assert_cmpstr(string->str, ==, expected);
}

static void test_json(void)
{
    assert_json("", "\"\"");
    assert_json("a\\255\"b\n\x7f", "\"a\\\\255\\\"b\\u000a\\u007f\"");
    assert_json("\xc3\xbc", "\"\xc3\xbc\"");
    assert_json("\xfc", "\"\\u00fc\"");
}

static void test_half_a_line(Daemon *d, gconstpointer data)
{
    int slow = client_new(d), other = client_new(d);

    say(d, slow, "ec");
    say(d, other, "echo other\n");
    assert_heard(other, "<other>\nok\n");
    say(d, slow, "ho slow\nec");
    assert_heard(slow, "<slow>\nok\n");
    g_usleep((BASE_CONTROL_TIME - 1) * G_USEC_PER_SEC);
    say(d, other, "echo again\n");
    assert_heard(other, "<again>\nok\n");
    base_control_tick(d->control);
    assert_heard(slow, "");
    g_usleep(2 * G_USEC_PER_SEC);
    base_control_tick(d->control);
    assert_over(slow, "");
    /* Its time began with its last line. */
    say(d, other, "echo late\n");
    assert_heard(other, "<late>\nok\n");
    close(other);
}

static void test_long_line(Daemon *d, gconstpointer data)
{
    g_autofree char *most = g_strnfill(BASE_CONTROL_LINE_MAX - 6, 'x');
    g_autofree char *longest = g_strdup_printf("echo %s\n", most);
    g_autofree char *answer = g_strdup_printf("<%s>\nok\n", most);
    g_autofree char *too_long = g_strnfill(BASE_CONTROL_LINE_MAX, 'y');
    int fd = client_new(d);

    say(d, fd, longest);
    assert_heard(fd, answer);
    say(d, fd, too_long);
    assert_over(fd, "error a line is longer than 1024 octets\n");
}

static void test_slow_reader(Daemon *d, gconstpointer data)
{
    g_autoptr(GString) heard = g_string_new(NULL);
    int slow = client_new(d), other = client_new(d);
    unsigned made;

    say(d, slow, "parts\necho then\n");
    /* It has not read: the answer is not made ahead of it. */
    made = d->parts;
    g_assert_cmpuint(made, <, PARTS);
    say(d, other, "echo other\n");
    assert_heard(other, "<other>\nok\n");
    g_assert_cmpuint(d->parts, ==, made);
    while (!g_str_has_suffix(heard->str, "<then>\nok\n")) {
        g_assert_false(hear(slow, heard));
        serve(d);
    }
    g_assert_cmpuint(heard->len, ==,
                     PARTS * PART_LEN + strlen("ok\n<then>\nok\n"));
    g_assert_cmpuint(d->ends, ==, 1);
    close(slow);
    close(other);
}

static void test_gone_in_mid_answer(Daemon *d, gconstpointer data)
{
    int fd = client_new(d), other;

    say(d, fd, "parts\n");
    g_assert_cmpuint(d->parts, <, PARTS);
    close(fd);
    serve(d);
    g_assert_cmpuint(d->ends, ==, 1);
    /* Nor does one who never reads keep it. */
    fd = client_new(d);
    say(d, fd, "parts\n");
    g_usleep((BASE_CONTROL_TIME + 2) * G_USEC_PER_SEC);
    base_control_tick(d->control);
    g_assert_cmpuint(d->ends, ==, 2);
    close(fd);
    other = client_new(d);
    say(d, other, "parts\n");
    base_control_free(d->control);
    d->control = NULL;
    g_assert_cmpuint(d->ends, ==, 3);
    close(other);
}

static unsigned count_lines(const char *text)
{
    unsigned count = 0;

    for (; *text; text++) {
        count += *text == '\n';
    }
    return count;
}

static void test_too_many(Daemon *d, gconstpointer data)
{
    unsigned most = getuid() ? BASE_CONTROL_USER_MAX : BASE_CONTROL_MAX;
    g_autofree int *fds = g_new(int, most);

    for (unsigned i = 0; i < most; i++) {
        fds[i] = client_new(d);
    }
    assert_over(client_new(d), "error too many connections\n");
    g_assert_nonnull(strstr(d->log->str, "too many connections"));
    for (unsigned i = 0; i < 20; i++) {
        assert_over(client_new(d), "error too many connections\n");
    }
    g_assert_cmpuint(count_lines(d->log->str), ==, 10);
    say(d, fds[0], "echo here\n");
    assert_heard(fds[0], "<here>\nok\n");
    close(fds[1]);
    serve(d);
    fds[1] = client_new(d);
    say(d, fds[1], "echo too\n");
    assert_heard(fds[1], "<too>\nok\n");
    for (unsigned i = 0; i < most; i++) {
        close(fds[i]);
    }
}

static void test_sessions(Daemon *d, gconstpointer data)
{
    int one = client_new(d), two = client_new(d);

    g_assert_cmpuint(d->sessions, ==, 2);
    say(d, one, "a\n\n");
    say(d, two, "bcd\necho e\nx\n");
    assert_heard(one, "0 1\nok\n1 0\nok\n");
    assert_heard(two, "0 3\nok\n<e>\nok\n1 1\nok\n");
    close(one);
    serve(d);
    g_assert_cmpuint(d->sessions, ==, 1);
    close(two);
}

static void test_file(Daemon *d, gconstpointer data)
{
    struct stat there;
    int fd;

    g_assert_cmpint(lstat(d->path, &there), ==, 0);
    g_assert_cmpuint(there.st_mode & 07777, ==, 0600);
    g_assert_null(base_control_new(d->path, 0600, &plain_ops, d));
    g_assert_cmpint(errno, ==, EADDRINUSE);
    g_unlink(d->path);
    base_control_tick(d->control);
    g_assert_cmpuint(d->again, ==, 1);
    g_assert_nonnull(strstr(d->log->str, "was removed: it is there again"));
    fd = client_new(d);
    say(d, fd, "echo again\n");
    assert_heard(fd, "<again>\nok\n");
    close(fd);
}

/* --- base_control_ask() --------------------------------------------------- */

static gpointer pump(gpointer opaque)
{
    Daemon *d = opaque;
    struct pollfd poller = { base_control_fd(d->control), POLLIN, 0 };

    while (!g_atomic_int_get(&d->is_over)) {
        if (poll(&poller, 1, 10) > 0) {
            base_control_ready(d->control);
        }
    }
    return NULL;
}

static void assert_answer(Daemon *d, const char *line, int result,
                          const char *answer)
{
    char *text;

    g_assert_cmpint(base_control_ask(d->path, line, &text), ==, result);
    g_assert_cmpstr(text, ==, answer);
    free(text);
}

/* A daemon that is killed while it answers. */
static gpointer cut_off(gpointer listener)
{
    int fd = accept(((BaseListener *)listener)->fd, NULL, NULL);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(send(fd, "half\nok", 7, 0), ==, 7);
    close(fd);
    return NULL;
}

static void test_ask(Daemon *d, gconstpointer data)
{
    GThread *thread = g_thread_new("pump", pump, d);
    BaseListener dying;
    char *text;

    assert_answer(d, "echo a", 0, "<a>\n");
    assert_answer(d, "echo a\necho b", 0, "<a>\nok\n<b>\n");
    assert_answer(d, "refuse", -EREMOTEIO, "first\nlast");
    g_assert_cmpint(base_control_ask(d->path, "parts", &text), ==, 0);
    g_assert_cmpuint(strlen(text), ==, PARTS * PART_LEN);
    free(text);
    g_atomic_int_set(&d->is_over, 1);
    g_thread_join(thread);
    base_control_free(d->control);
    d->control = NULL;
    assert_answer(d, "echo a", -ENOENT, NULL);

    g_assert_cmpint(base_listener_open(&dying, d->path, 0600), ==, 0);
    g_assert_cmpint(fcntl(dying.fd, F_SETFL, 0), ==, 0);
    thread = g_thread_new("cut off", cut_off, &dying);
    assert_answer(d, "echo a", -EPROTO, "half\nok");
    g_thread_join(thread);
    base_listener_close(&dying);
}

#define ADD(name, ops, test)                                                  \
    g_test_add("/base/control/" name, Daemon, &ops, set_up, test, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("lines", plain_ops, test_lines);
    ADD("log", plain_ops, test_log);
    g_test_add_func("/base/log", test_log_lines);
    g_test_add_data_func("/base/log/limit", GSIZE_TO_POINTER(1000),
                         test_log_limit);
    g_test_add_data_func("/base/log/limit-after-boot", GSIZE_TO_POINTER(1),
                         test_log_limit);
    g_test_add_func("/base/json/values", test_json_values);
    g_test_add_func("/base/metrics", test_metrics);
    g_test_add_func("/base/json", test_json);
    ADD("half", plain_ops, test_half_a_line);
    ADD("long", plain_ops, test_long_line);
    ADD("slow", plain_ops, test_slow_reader);
    ADD("gone", plain_ops, test_gone_in_mid_answer);
    ADD("many", plain_ops, test_too_many);
    ADD("sessions", session_ops, test_sessions);
    ADD("file", plain_ops, test_file);
    ADD("ask", plain_ops, test_ask);
    return g_test_run();
}
