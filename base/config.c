/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A configuration in YAML, read by tables of keys */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/config.h"
#include "base/nearest.h"
#include "base/number.h"

#define SHOWN_MAX       60      /* octets of a value in a message */
#define KEYS_MAX        32      /* per table */
#define PATH_LEN_MAX    4095

/* --- memory --------------------------------------------------------------- */

struct ConfigMemory {
    ConfigMemory *next;
    max_align_t piece[];
};

void *config_memory_get(ConfigMemory **memory, size_t len)
{
    ConfigMemory *piece = calloc(1, sizeof(*piece) + len);

    if (!piece) {
        abort();
    }
    piece->next = *memory;
    *memory = piece;
    return piece->piece;
}

char *config_memory_text(ConfigMemory **memory, const char *text)
{
    size_t len = strlen(text) + 1;

    return memcpy(config_memory_get(memory, len), text, len);
}

void config_memory_free(ConfigMemory *memory)
{
    while (memory) {
        ConfigMemory *next = memory->next;

        free(memory);
        memory = next;
    }
}

/* --- messages ------------------------------------------------------------- */

static void add_text(ConfigErrors *m, const char *format, ...)
{
    size_t room = sizeof(m->text) - m->len;
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(m->text + m->len, room, format, args);
    va_end(args);
    m->len += len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
}

/* Replace control characters, which must not reach a terminal. */
static void show(char to[SHOWN_MAX + 1], const char *text)
{
    size_t i;

    for (i = 0; i < SHOWN_MAX && text[i]; i++) {
        to[i] = text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    }
    to[i] = 0;
}

static void begin_line(ConfigReader *r, const yaml_node_t *node)
{
    r->errors->count++;
    add_text(r->errors, "%s%s:%zu:%zu: ", r->errors->len ? "\n" : "",
             r->path, node->start_mark.line + 1, node->start_mark.column + 1);
}

void config_wrong(ConfigReader *r, const yaml_node_t *node, const char *how,
                  const char *right)
{
    const char *colon = *r->key ? ": " : "";
    char shown[SHOWN_MAX + 1];

    begin_line(r, node);
    if (node->type == YAML_SCALAR_NODE) {
        show(shown, (const char *)node->data.scalar.value);
        add_text(r->errors, "%s%s'%s' %s; right is %s", r->key, colon, shown,
                 how, right);
    } else {
        add_text(r->errors, "%s%sa %s %s; right is %s", r->key, colon,
                 node->type == YAML_MAPPING_NODE ? "map" : "list", how, right);
    }
}

void config_say(ConfigReader *r, const yaml_node_t *node, const char *text)
{
    begin_line(r, node);
    add_text(r->errors, "%s", text);
}

static void tell_unknown(ConfigReader *r, const yaml_node_t *node,
                         const char *word, const ConfigKey *keys)
{
    const char *nearest = keys->name;
    unsigned best = -1u;
    char shown[SHOWN_MAX + 1];

    for (const ConfigKey *key = keys; key->name; key++) {
        unsigned distance = word_distance(word, key->name);

        if (distance < best) {
            best = distance;
            nearest = key->name;
        }
    }
    begin_line(r, node);
    show(shown, word);
    add_text(r->errors, "%s%s'%s' is no key here; the nearest is '%s'",
             r->key, *r->key ? ": " : "", shown, nearest);
}

/* --- the position --------------------------------------------------------- */

static size_t enter(ConfigReader *r, const char *name)
{
    size_t len = strlen(r->key);

    snprintf(r->key + len, sizeof(r->key) - len, "%s%s", len ? "." : "", name);
    return len;
}

static size_t enter_item(ConfigReader *r, size_t index)
{
    size_t len = strlen(r->key);

    snprintf(r->key + len, sizeof(r->key) - len, "[%zu]", index);
    return len;
}

static void leave(ConfigReader *r, size_t len)
{
    r->key[len] = 0;
}

/* --- maps and lists ------------------------------------------------------- */

static const yaml_node_t *node_of(ConfigReader *r, int index)
{
    return yaml_document_get_node(&r->document, index);
}

static const ConfigKey *find_key(const ConfigKey *keys, const char *word)
{
    for (; keys->name; keys++) {
        if (!strcmp(keys->name, word)) {
            return keys;
        }
    }
    return NULL;
}

static void read_pair(ConfigReader *r, const yaml_node_pair_t *pair,
                      const ConfigKey *keys, bool *seen, void *to)
{
    const yaml_node_t *name = node_of(r, pair->key);
    const char *word = name->type == YAML_SCALAR_NODE
                       ? (const char *)name->data.scalar.value : "";
    const ConfigKey *key = find_key(keys, word);
    size_t before;

    if (!key) {
        tell_unknown(r, name, word, keys);
        return;
    }
    before = enter(r, key->name);
    if (seen[key - keys]) {
        config_wrong(r, name, "is here twice", "once");
    } else {
        seen[key - keys] = true;
        key->read(r, node_of(r, pair->value), key, (char *)to + key->offset);
    }
    leave(r, before);
}

void config_map(ConfigReader *r, const yaml_node_t *node, const ConfigKey *keys,
                void *to)
{
    bool seen[KEYS_MAX] = { false };

    if (node->type != YAML_MAPPING_NODE) {
        config_wrong(r, node, "is no map", "'key: value' in each line");
        return;
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        read_pair(r, pair, keys, seen, to);
    }
}

void *config_list(ConfigReader *r, const yaml_node_t *node,
                  const ConfigKey *key, size_t size, size_t max,
                  ConfigReadFn *each, size_t *count)
{
    const yaml_node_item_t *items;
    char *to;

    *count = 0;
    if (node->type != YAML_SEQUENCE_NODE) {
        config_wrong(r, node, "is no list", key->right);
        return NULL;
    }
    items = node->data.sequence.items.start;
    *count = node->data.sequence.items.top - items;
    if (*count > max) {
        config_wrong(r, node, "is too long", key->right);
        *count = 0;
    }
    to = config_memory_get(r->memory, *count * size);
    for (size_t i = 0; i < *count; i++) {
        size_t before = enter_item(r, i);

        each(r, node_of(r, items[i]), key, to + i * size);
        leave(r, before);
    }
    return to;
}

/* --- values --------------------------------------------------------------- */

const char *config_scalar(ConfigReader *r, const yaml_node_t *node,
                          const ConfigKey *key)
{
    const char *text = (const char *)node->data.scalar.value;

    if (node->type != YAML_SCALAR_NODE) {
        config_wrong(r, node, "is no value", key->right);
        return NULL;
    }
    if (strlen(text) != node->data.scalar.length) {
        config_wrong(r, node, "has a NUL", key->right);
        return NULL;
    }
    return text;
}

static bool is_one_of(const char *text, const char *a, const char *b,
                      const char *c)
{
    return !strcasecmp(text, a) || !strcasecmp(text, b) ||
           !strcasecmp(text, c);
}

bool config_is_off(const char *text)
{
    return is_one_of(text, "off", "false", "no");
}

void config_read_number(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);

    if (!text) {
        return;
    }
    switch (number_read(text, key->min, key->max, to)) {
    case NUMBER_NONE:
        config_wrong(r, node, "is no number", key->right);
        break;
    case NUMBER_RANGE:
        config_wrong(r, node, "is out of range", key->right);
        break;
    case NUMBER_RIGHT:
        break;
    }
}

void config_read_switch(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);

    if (!text) {
        return;
    }
    if (!config_is_off(text) && !is_one_of(text, "on", "true", "yes")) {
        config_wrong(r, node, "is neither", key->right);
        return;
    }
    *(bool *)to = !config_is_off(text);
}

void config_read_text(ConfigReader *r, const yaml_node_t *node,
                      const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);

    if (!text) {
        return;
    }
    if (!*text) {
        config_wrong(r, node, "is empty", key->right);
    } else if (strlen(text) > key->max) {
        config_wrong(r, node, "is too long", key->right);
    } else {
        *(const char **)to = config_is_off(text) ? NULL
            : config_memory_text(r->memory, text);
    }
}

void config_read_path(ConfigReader *r, const yaml_node_t *node,
                      const ConfigKey *key, void *to)
{
    ConfigKey bounded = *key;

    bounded.max = PATH_LEN_MAX;
    if (node->type == YAML_SCALAR_NODE &&
        *(const char *)node->data.scalar.value != '/' &&
        !config_is_off((const char *)node->data.scalar.value)) {
        config_wrong(r, node, "is no absolute path", key->right);
        return;
    }
    config_read_text(r, node, &bounded, to);
}

/* --- a whole file --------------------------------------------------------- */

static void tell_syntax(const char *path, const yaml_parser_t *parser,
                        ConfigErrors *m)
{
    const yaml_mark_t *at = parser->context_mark.line >
                            parser->problem_mark.line
                            ? &parser->context_mark : &parser->problem_mark;
    int len = snprintf(m->text, sizeof(m->text), "%s:%zu:%zu: no YAML: %s%s%s",
                       path, at->line + 1, at->column + 1,
                       parser->problem ? parser->problem : "no memory",
                       parser->context ? " " : "",
                       parser->context ? parser->context : "");

    m->count++;
    m->len = len < 0 ? 0 : len;
}

static bool parse(ConfigReader *r, const char *text, size_t len)
{
    yaml_parser_t parser;
    bool done;

    if (!yaml_parser_initialize(&parser)) {
        abort();
    }
    yaml_parser_set_input_string(&parser, (const void *)text, len);
    done = yaml_parser_load(&parser, &r->document);
    if (!done) {
        tell_syntax(r->path, &parser, r->errors);
    }
    yaml_parser_delete(&parser);
    return done;
}

bool config_read(ConfigReader *r, const char *text, size_t len,
                 const ConfigKey *keys, void *to)
{
    const yaml_node_t *root;

    *r->errors = (ConfigErrors) { 0 };
    r->key[0] = 0;
    if (!parse(r, text, len)) {
        return false;
    }
    root = yaml_document_get_root_node(&r->document);
    if (root) {
        config_map(r, root, keys, to);
    }
    yaml_document_delete(&r->document);
    return !r->errors->count;
}
