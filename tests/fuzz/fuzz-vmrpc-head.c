/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest writes what it likes in a stream of HTTP
 *
 * Input: two octets that say how the stream is cut, then the stream.  What is
 * read in it must not depend on how it is cut, nor on whether bodies are
 * copied, and unless it is refused, what is sent on does not, either.
 */
#include <string.h>

#include "tests/fixtures/hello-fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEADER = 2, PLAYS = 4 };
    const struct {
        size_t first, cut;
        bool skips;
    } plays[PLAYS] = {
        { 0, 0, false }, { 0, 1, true }, { 0, 0, true },
        { size ? data[0] : 0, size > 1 ? data[1] : 0, true },
    };
    g_autofree char *whole = NULL;
    size_t sent[PLAYS];

    if (size < HEADER) {
        return 0;
    }
    for (size_t i = 0; i < PLAYS; i++) {
        g_autofree char *log = head_play(data + HEADER, size - HEADER,
                                         plays[i].first, plays[i].cut,
                                         plays[i].skips, &sent[i]);

        whole = whole ? whole : g_strdup(log);
        g_assert_cmpstr(log, ==, whole);
        if (!strstr(whole, "refused: ")) {
            g_assert_cmpuint(sent[i], ==, sent[0]);
        }
        if (g_str_has_prefix(whole, "refused: ")) {
            g_assert_cmpuint(sent[i], ==, 0);
        }
    }
    return 0;
}
