/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's requests to vmmnet-hostd, which the tests simulate */
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/handoff/talk.h"

#define VM      "0a7c1f3e-0000-4000-8000-00000000000a"
#define MINUTE  60000u

typedef struct Server {
    char *folder, *path;
    int fd;
    HandoffTalk *talk;
} Server;

static void set_up(Server *s, gconstpointer opaque)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    s->folder = g_dir_make_tmp("handoff-XXXXXX", NULL);
    s->path = g_build_filename(s->folder, "sock", NULL);
    g_strlcpy(address.sun_path, s->path, sizeof(address.sun_path));
    s->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    g_assert_cmpint(bind(s->fd, (void *)&address, sizeof(address)), ==, 0);
    g_assert_cmpint(listen(s->fd, 8), ==, 0);
    s->talk = handoff_talk_new(s->path, VM);
}

static void tear_down(Server *s, gconstpointer opaque)
{
    handoff_talk_free(s->talk);
    close(s->fd);
    g_unlink(s->path);
    g_rmdir(s->folder);
    g_free(s->path);
    g_free(s->folder);
}

/* Take the next connection. */
static int answer_phone(const Server *s)
{
    int fd = accept(s->fd, NULL, NULL);

    g_assert_cmpint(fd, >=, 0);
    return fd;
}

static void assert_asked(int fd, const char *lines)
{
    char got[256] = "";
    ssize_t len = recv(fd, got, strlen(lines), MSG_WAITALL);

    g_assert_cmpint(len, ==, strlen(lines));
    g_assert_cmpstr(got, ==, lines);
    g_assert_cmpint(recv(fd, got, 1, MSG_DONTWAIT), ==, -1);
}

static void say(int fd, const char *text)
{
    g_assert_cmpint(send(fd, text, strlen(text), MSG_NOSIGNAL), ==,
                    strlen(text));
}

static void test_done(Server *s, gconstpointer opaque)
{
    int fd;

    g_assert_cmpint(handoff_talk_fd(s->talk), ==, -1);
    g_assert_true(handoff_talk_ask(s->talk, HANDOFF_TAKE, NULL));
    fd = answer_phone(s);
    assert_asked(fd, "take " VM "\n");
    g_assert_cmpint(handoff_talk_answer(s->talk, NULL), ==, HANDOFF_NOTHING);
    say(fd, "o");
    g_assert_cmpint(handoff_talk_answer(s->talk, NULL), ==, HANDOFF_NOTHING);
    say(fd, "k\n");
    g_assert_cmpint(handoff_talk_answer(s->talk, NULL), ==, HANDOFF_DONE);
    g_assert_cmpint(handoff_talk_fd(s->talk), ==, -1);
    close(fd);
}

static void test_refused(Server *s, gconstpointer opaque)
{
    g_autoptr(GError) err = NULL;
    int fd;

    g_assert_true(handoff_talk_ask(s->talk, HANDOFF_YIELD, NULL));
    fd = answer_phone(s);
    assert_asked(fd, "yield " VM "\n");
    say(fd, "error it is \xff not yours\n");
    g_assert_cmpint(handoff_talk_answer(s->talk, &err), ==, HANDOFF_REFUSED);
    g_assert_true(g_str_has_suffix(err->message, "not yours"));
    g_assert_true(g_utf8_validate(err->message, -1, NULL));
    close(fd);
}

/* Later requests follow in order, and the last answer counts. */
static void test_in_order(Server *s, gconstpointer opaque)
{
    int fd;

    g_assert_true(handoff_talk_ask(s->talk, HANDOFF_TAKE, NULL));
    g_assert_true(handoff_talk_ask(s->talk, HANDOFF_YIELD, NULL));
    fd = answer_phone(s);
    assert_asked(fd, "take " VM "\nyield " VM "\n");
    say(fd, "error too late\n");
    g_assert_cmpint(handoff_talk_answer(s->talk, NULL), ==, HANDOFF_NOTHING);
    say(fd, "ok\n");
    g_assert_cmpint(handoff_talk_answer(s->talk, NULL), ==, HANDOFF_DONE);
    close(fd);
}

static void test_lost(Server *s, gconstpointer opaque)
{
    g_autofree char *noise = g_strnfill(1024, 'x');
    g_autoptr(GError) err = NULL, noisy = NULL;
    int fd;

    g_assert_true(handoff_talk_ask(s->talk, HANDOFF_TAKE, NULL));
    close(answer_phone(s));
    g_assert_cmpint(handoff_talk_answer(s->talk, &err), ==, HANDOFF_LOST);
    g_assert_nonnull(strstr(err->message, s->path));
    g_assert_cmpint(handoff_talk_answer(s->talk, NULL), ==, HANDOFF_NOTHING);

    g_assert_true(handoff_talk_ask(s->talk, HANDOFF_TAKE, NULL));
    fd = answer_phone(s);
    say(fd, noise);
    g_assert_cmpint(handoff_talk_answer(s->talk, &noisy), ==, HANDOFF_LOST);
    close(fd);
}

/* The connection has ended unnoticed: a new one is made. */
static void test_asks_anew(Server *s, gconstpointer opaque)
{
    int fd;

    g_assert_true(handoff_talk_ask(s->talk, HANDOFF_TAKE, NULL));
    close(answer_phone(s));
    g_assert_true(handoff_talk_ask(s->talk, HANDOFF_YIELD, NULL));
    fd = answer_phone(s);
    assert_asked(fd, "yield " VM "\n");
    say(fd, "ok\n");
    g_assert_cmpint(handoff_talk_answer(s->talk, NULL), ==, HANDOFF_DONE);
    close(fd);
}

static void test_nobody(Server *s, gconstpointer opaque)
{
    g_autofree char *far = g_strnfill(200, 'x');
    g_autoptr(GError) err = NULL, too_long = NULL;
    HandoffTalk *distant = handoff_talk_new(far, VM);

    g_assert_true(handoff_talk_try(s->talk, NULL));
    g_unlink(s->path);
    g_assert_false(handoff_talk_try(s->talk, &err));
    g_assert_true(g_error_matches(err, err->domain, ENOENT));
    g_assert_nonnull(strstr(err->message, s->path));
    g_assert_false(handoff_talk_ask(s->talk, HANDOFF_TAKE, NULL));
    g_assert_false(handoff_talk_try(distant, &too_long));
    g_assert_true(g_error_matches(too_long, err->domain, ENAMETOOLONG));
    handoff_talk_free(distant);
}

/* --- waiting -------------------------------------------------------------- */

/* A server that dies before its answer, and another one that answers. */
static gpointer die_and_come_back(gpointer opaque)
{
    const Server *s = opaque;
    int fd = answer_phone(s);

    assert_asked(fd, "yield " VM "\n");
    close(fd);
    fd = answer_phone(s);
    assert_asked(fd, "yield " VM "\n");
    say(fd, "ok\n");
    return GINT_TO_POINTER(fd);
}

static void test_settle(Server *s, gconstpointer opaque)
{
    GThread *thread = g_thread_new("server", die_and_come_back, s);
    g_autoptr(GError) err = NULL;

    g_assert_cmpint(handoff_talk_settle(s->talk, HANDOFF_YIELD, MINUTE, &err),
                    ==, HANDOFF_DONE);
    g_assert_no_error(err);
    close(GPOINTER_TO_INT(g_thread_join(thread)));
}

static void test_settle_late(Server *s, gconstpointer opaque)
{
    int64_t before = g_get_monotonic_time();
    g_autoptr(GError) err = NULL, none = NULL;
    int fd;

    g_assert_cmpint(handoff_talk_settle(s->talk, HANDOFF_YIELD, 50, &err), ==,
                    HANDOFF_NOTHING);
    g_assert_cmpint(g_get_monotonic_time() - before, >=, 50000);
    g_assert_nonnull(strstr(err->message, "within 50 ms"));

    /* The answer comes late; a new request follows it. */
    g_assert_true(handoff_talk_ask(s->talk, HANDOFF_TAKE, NULL));
    fd = answer_phone(s);
    assert_asked(fd, "yield " VM "\ntake " VM "\n");
    close(fd);

    handoff_talk_hang_up(s->talk);
    g_unlink(s->path);
    g_assert_cmpint(handoff_talk_settle(s->talk, HANDOFF_YIELD, 50, &none), ==,
                    HANDOFF_NOTHING);
}

#define ADD(name, function) \
    g_test_add("/handoff/talk/" name, Server, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("done", test_done);
    ADD("refused", test_refused);
    ADD("in-order", test_in_order);
    ADD("lost", test_lost);
    ADD("asks-anew", test_asks_anew);
    ADD("nobody", test_nobody);
    ADD("settle", test_settle);
    ADD("settle-late", test_settle_late);
    return g_test_run();
}
