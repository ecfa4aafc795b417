/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has something happened to a path? */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/watch/watch.h"

/* A folder of its own, in which the test is. */
static char *tmp;

static void begin(void)
{
    tmp = g_dir_make_tmp("watch-XXXXXX", NULL);
    g_assert_nonnull(tmp);
    g_assert_cmpint(g_chdir(tmp), ==, 0);
}

static void remove_all(const char *path)
{
    GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL :
                g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *child = g_build_filename(path, name, NULL);

        remove_all(child);
    }
    if (dir) {
        g_dir_close(dir);
    }
    g_remove(path);
}

static void end(PathWatch *w)
{
    path_watch_destroy(w);
    path_watch_destroy(w);      /* twice is no harm */
    g_assert_cmpint(g_chdir("/"), ==, 0);
    remove_all(tmp);
    g_clear_pointer(&tmp, g_free);
}

static void watch(PathWatch *w, const char *path)
{
    g_autofree char *absolute = g_build_filename(tmp, path, NULL);

    path_watch_init(w, absolute);
    g_assert_true(path_watch_is_complete(w));
}

static void make(const char *folder)
{
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
}

static void write_file(const char *path)
{
    FILE *out = fopen(path, "w");

    g_assert_nonnull(out);
    fputs("x", out);
    fclose(out);
}

static void move(const char *from, const char *to)
{
    g_assert_cmpint(g_rename(from, to), ==, 0);
}

static void make_link(const char *target, const char *path)
{
    g_assert_cmpint(symlink(target, path), ==, 0);
}

/* A link takes the place of another at once, as Kubernetes does it. */
static void move_link(const char *target, const char *path)
{
    g_autofree char *other = g_strconcat(path, ".new", NULL);

    make_link(target, other);
    move(other, path);
}

static bool is_readable(const PathWatch *w)
{
    struct pollfd pfd = { .fd = w->fd, .events = POLLIN };

    return poll(&pfd, 1, 0) > 0;
}

/* All that has come; inotify has it before the call that caused it is over. */
static unsigned news(PathWatch *w)
{
    unsigned all = 0;

    while (is_readable(w)) {
        all |= path_watch_read(w);
    }
    g_assert_true(path_watch_is_complete(w));
    return all;
}

#define assert_whole(w) g_assert_cmphex(news(w) & PATH_WATCH_WHOLE, !=, 0)
#define assert_part(w)  g_assert_cmphex(news(w), ==, PATH_WATCH_PART)
#define assert_none(w)  g_assert_cmphex(news(w), ==, 0)

/* The watch follows the path as it is now. */
static void assert_followed(PathWatch *w, const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *other = g_build_filename(folder, "unrelated", NULL);

    assert_none(w);
    write_file(path);
    assert_whole(w);
    write_file(other);
    assert_none(w);
    g_unlink(other);
    assert_none(w);
}

static void test_file(void)
{
    PathWatch w;
    FILE *out;

    begin();
    make("d");
    watch(&w, "d/f");
    out = fopen("d/f", "w");
    assert_part(&w);
    fputs("x", out);
    fflush(out);
    assert_part(&w);
    fclose(out);
    assert_whole(&w);
    g_assert_cmpint(chmod("d/f", 0600), ==, 0);
    assert_part(&w);
    write_file("d/g");
    assert_none(&w);
    move("d/g", "d/f");
    assert_whole(&w);
    g_unlink("d/f");
    assert_whole(&w);
    write_file("d/g");
    g_assert_cmpint(link("d/g", "d/f"), ==, 0);
    assert_whole(&w);
    move("d/f", "d/h");
    assert_whole(&w);
    assert_followed(&w, "d/f");
    end(&w);
}

/* The folder is replaced, however that is done. */
static void test_folder(void)
{
    PathWatch w;

    begin();
    make("d");
    write_file("d/f");
    watch(&w, "d/f");
    move("d", "old");
    assert_whole(&w);
    write_file("old/f");
    assert_none(&w);
    make("d");
    assert_whole(&w);
    assert_followed(&w, "d/f");

    /* all of it before anybody looks */
    remove_all("d");
    make("d");
    write_file("d/f");
    assert_whole(&w);
    assert_followed(&w, "d/f");
    make("new");
    write_file("new/f");
    remove_all("old");
    move("d", "old");
    move("new", "d");
    assert_whole(&w);
    assert_followed(&w, "d/f");
    end(&w);
}

/* And so may be one above it. */
static void test_above(void)
{
    PathWatch w;

    begin();
    make("a/b/c");
    write_file("a/b/c/f");
    make("new/b/c");
    write_file("new/b/c/f");
    watch(&w, "a/b/c/f");
    write_file("a/passes");
    make("a/b/passes");
    assert_none(&w);
    move("a", "old");
    move("new", "a");
    assert_whole(&w);
    assert_followed(&w, "a/b/c/f");
    move("a/b", "a/old");
    assert_whole(&w);
    make("a/b");
    assert_whole(&w);
    make("a/b/c");
    assert_whole(&w);
    assert_followed(&w, "a/b/c/f");
    end(&w);
}

static void test_missing(void)
{
    PathWatch w;

    begin();
    watch(&w, "a/b/f");
    make("other");
    assert_none(&w);
    write_file("a");
    assert_whole(&w);
    g_unlink("a");
    assert_whole(&w);
    make("a/b");
    assert_whole(&w);
    assert_followed(&w, "a/b/f");
    end(&w);
}

/* A volume of Kubernetes: x -> ..data/x, ..data -> ..1, which has it. */
static void test_kubernetes(void)
{
    PathWatch w;

    begin();
    make("v/..1");
    write_file("v/..1/f");
    make_link("..1", "v/..data");
    make_link("..data/f", "v/f");
    watch(&w, "v/f");
    for (unsigned i = 2; i < 5; i++) {
        g_autofree char *name = g_strdup_printf("..%u", i);
        g_autofree char *folder = g_build_filename("v", name, NULL);
        g_autofree char *file = g_build_filename(folder, "f", NULL);

        make(folder);
        write_file(file);
        assert_none(&w);
        move_link(name, "v/..data");
        assert_whole(&w);
        assert_followed(&w, file);
    }
    end(&w);
}

/* A link that leads away is followed, and what it leads to. */
static void test_links(void)
{
    g_autofree char *absolute = NULL;
    PathWatch w;

    begin();
    absolute = g_build_filename(tmp, "far/f", NULL);
    make("d");
    make("far");
    make_link("../further/f", "d/f");
    watch(&w, "d/./x/../f");
    g_assert_cmpuint(news(&w), ==, 0);
    make("d/x");
    assert_whole(&w);
    make("further");
    assert_whole(&w);
    assert_followed(&w, "further/f");
    move_link(absolute, "d/f");
    assert_whole(&w);
    assert_followed(&w, "far/f");
    move("far", "d/far");
    assert_whole(&w);
    make_link("d/far", "far");
    assert_whole(&w);
    assert_followed(&w, "d/far/f");
    g_unlink("d/f");
    assert_whole(&w);
    assert_followed(&w, "d/f");
    end(&w);
}

/* More than it follows: it says so, and follows what it can. */
static void test_too_much(void)
{
    GString *deep = g_string_new("d");
    PathWatch w;

    begin();
    g_string_append(deep, "/link");
    for (unsigned i = 0; i < PATH_WATCH_MAX; i++) {
        g_string_append(deep, "/d");
    }
    g_string_prepend_c(deep, '/');
    g_string_prepend(deep, tmp);
    make("d");
    make_link("link", "d/link");
    path_watch_init(&w, deep->str);
    g_assert_false(path_watch_is_complete(&w));
    g_unlink("d/link");
    g_assert_cmphex(path_watch_read(&w), ==, PATH_WATCH_WHOLE);
    g_assert_true(path_watch_is_complete(&w));
    make(deep->str);
    g_assert_cmphex(path_watch_read(&w), ==, PATH_WATCH_WHOLE);
    g_assert_false(path_watch_is_complete(&w));
    path_watch_set(&w);
    g_assert_false(path_watch_is_complete(&w));
    remove_all("d");
    g_assert_cmphex(path_watch_read(&w), ==, PATH_WATCH_WHOLE);
    g_assert_true(path_watch_is_complete(&w));
    g_string_free(deep, TRUE);
    end(&w);
}

/* There is no inotify to be had. */
static void test_none_left(void)
{
    PathWatch w;

    begin();
    make("d");
    watch(&w, "d/f");
    close(w.fd);
    w.fd = -1;
    w.complete = false;
    path_watch_set(&w);
    g_assert_false(path_watch_is_complete(&w));
    g_assert_cmphex(path_watch_read(&w), ==, 0);
    g_assert_cmpuint(w.num, ==, 0);
    end(&w);
}

/* One read has a bound; nothing is lost. */
static void test_flood(void)
{
    PathWatch w;

    begin();
    make("d");
    watch(&w, "d/f");
    for (unsigned i = 0; i < 1500; i++) {
        g_autofree char *name = g_strdup_printf("d/%u", i % 10);

        write_file(name);
    }
    path_watch_read(&w);
    g_assert_true(is_readable(&w));
    write_file("d/f");
    assert_whole(&w);
    assert_followed(&w, "d/f");
    end(&w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/watch/file", test_file);
    g_test_add_func("/watch/folder", test_folder);
    g_test_add_func("/watch/above", test_above);
    g_test_add_func("/watch/missing", test_missing);
    g_test_add_func("/watch/kubernetes", test_kubernetes);
    g_test_add_func("/watch/links", test_links);
    g_test_add_func("/watch/too-much", test_too_much);
    g_test_add_func("/watch/none-left", test_none_left);
    g_test_add_func("/watch/flood", test_flood);
    return g_test_run();
}
