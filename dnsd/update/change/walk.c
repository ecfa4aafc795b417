/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a view in canonical order, all layers together */
#include "dnsd/update/change/walk.h"

/* Load the node at layer->ref; false at the end. */
static bool load(ViewWalkLayer *layer, ZoneImage *image)
{
    if (!layer->ref) {
        return true;
    }
    if (!zone_node_get(image, layer->ref, &layer->node)) {
        return false;
    }
    name_key_init(&layer->key, layer->node.name);
    return true;
}

static bool step(ViewWalkLayer *layer)
{
    layer->ref = zone_node_next(&layer->node);
    return load(layer, layer->node.image);
}

/* Load entry @index of ORDER; false if the image is damaged. */
static bool load_ordered(ViewWalkLayer *layer, ZoneImage *image,
                         uint64_t index)
{
    const uint8_t *at = zone_image_get(image, ZONE_ORDER,
                                       index * sizeof(uint32_t),
                                       sizeof(uint32_t));

    layer->ref = at ? get_le32(at) : 0;
    return layer->ref && load(layer, image);
}

/* Go to the last entry of ORDER at or before @from, then on to @from. */
static bool seek(ViewWalkLayer *layer, ZoneImage *image, const NameKey *from,
                 bool behind)
{
    uint64_t low = 0, high = image->section[ZONE_ORDER].len / sizeof(uint32_t);

    if (!high) {
        layer->ref = 0;
        return true;
    }
    while (from && high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (!load_ordered(layer, image, middle)) {
            return false;
        }
        if (name_key_compare(&layer->key, from) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if (!load_ordered(layer, image, low)) {
        return false;
    }
    while (from && layer->ref) {
        int differ = name_key_compare(&layer->key, from);

        if (differ > 0 || (differ == 0 && !behind)) {
            break;
        }
        if (!step(layer)) {
            return false;
        }
    }
    return true;
}

void view_walk_begin(ViewWalk *walk, const ZoneView *view, const NameKey *from,
                     bool behind)
{
    walk->layers = view->layers;
    walk->has_failed = false;
    for (unsigned i = 0; i < view->layers && !walk->has_failed; i++) {
        walk->has_failed = !seek(&walk->layer[i], view->layer[i], from, behind);
    }
}

bool view_walk_next(ViewWalk *walk)
{
    const ViewWalkLayer *first = NULL;

    for (unsigned i = 0; i < walk->layers && !walk->has_failed; i++) {
        const ViewWalkLayer *layer = &walk->layer[i];

        if (layer->ref && (!first ||
                           name_key_compare(&layer->key, &first->key) < 0)) {
            first = layer;
        }
    }
    if (!first || walk->has_failed) {
        return false;
    }
    walk->node = first->node;
    walk->key.len = first->key.len;
    memcpy(walk->key.octets, first->key.octets, first->key.len);
    for (unsigned i = 0; i < walk->layers; i++) {
        ViewWalkLayer *layer = &walk->layer[i];

        if (layer->ref && !name_key_compare(&layer->key, &walk->key) &&
            !step(layer)) {
            walk->has_failed = true;
        }
    }
    return true;
}
