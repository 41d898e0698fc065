#!/usr/bin/python3
"""Turns a plugin's ftplugin.yaml into the header that puts its manifest into the .so.

Usage: embed_manifest.py FTPLUGIN_YAML OUTPUT_HEADER [FILE...]

The manifest becomes one line of strict JSON (schema ft.plugin/1). `build_id` is added: a hash of
the manifest and the FILEs (the plugin's sources). The header defines FT_EMBEDDED_MANIFEST,
FT_EMBEDDED_ID, FT_EMBEDDED_VERSION and FT_EMBEDDED_BUILD_ID.
"""

import hashlib
import json
import re
import sys

try:
    import yaml
except ImportError:
    sys.exit("embed_manifest.py: no yaml module for /usr/bin/python3; "
             "install the Debian package python3-yaml")

SCHEMA = "ft.plugin/1"
MAX_BYTES = 65536
# key: (type, required)
KEYS = {
    "schema": (str, True), "id": (str, True), "version": (str, True), "title": (str, True),
    "license": (str, True), "homepage": (str, False), "abi": (dict, True),
    "language": (str, False), "kernel_rev": (int, False), "provides": (list, True),
    "threads": (dict, False), "gpu": (dict, False), "config": (list, False),
    "requires": (list, False), "fallback": (str, False), "unstable": (str, False),
}


class ManifestError(Exception):
    pass


class StrictLoader(yaml.SafeLoader):
    """Refuses duplicate keys, anchors and aliases."""

    def compose_node(self, parent, index):
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise ManifestError(f"line {event.start_mark.line + 1}: anchors and aliases are refused")
        return super().compose_node(parent, index)

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            if key_node.value in seen:
                raise ManifestError(
                    f"line {key_node.start_mark.line + 1}: duplicate key {key_node.value!r}")
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


def check(manifest):
    if not isinstance(manifest, dict):
        raise ManifestError("the document is not a mapping")
    for key in manifest:
        if key not in KEYS:
            raise ManifestError(f"unknown key {key!r}; known: {', '.join(KEYS)}")
    for key, (kind, required) in KEYS.items():
        if key not in manifest:
            if required:
                raise ManifestError(f"{key!r} is missing")
        elif not isinstance(manifest[key], kind):
            raise ManifestError(f"{key!r} must be a {kind.__name__} (quote versions: \"0.1\")")
    if manifest["schema"] != SCHEMA:
        raise ManifestError(f"schema must be {SCHEMA!r}")
    if not re.fullmatch(r"[a-z0-9.-]{3,64}", manifest["id"]):
        raise ManifestError("id must match [a-z0-9.-]{3,64}")
    for key in ("core", "need_core"):
        if not re.fullmatch(r"\d+\.\d+", str(manifest["abi"].get(key, ""))) \
                or not isinstance(manifest["abi"][key], str):
            raise ManifestError(f"abi.{key} must be a quoted \"MAJOR.MINOR\"")
    if not manifest["provides"]:
        raise ManifestError("provides must list at least one component")
    for component in manifest["provides"]:
        for key in ("kind", "name", "version"):
            if not isinstance(component.get(key), str):
                raise ManifestError(f"provides: every component needs a quoted {key}")
        if not re.fullmatch(r"[a-z0-9_]{1,32}", component["name"]):
            raise ManifestError(f"provides: name {component['name']!r} must match [a-z0-9_]{{1,32}}")


def c_literal(text, indent="    "):
    """`text` as adjacent C string literals, one per line of the header."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    pieces, at = [], 0
    while at < len(escaped):
        end = min(at + 80, len(escaped))
        while escaped[end - 1] == "\\" and end < len(escaped):
            end += 1  # never cut an escape
        pieces.append(f'{indent}"{escaped[at:end]}"')
        at = end
    return " \\\n".join(pieces)


def main(source, header, files):
    try:
        with open(source, encoding="utf-8") as stream:
            text = stream.read()
        manifest = yaml.load(text, StrictLoader)
        check(manifest)
    except (ManifestError, yaml.YAMLError, OSError) as error:
        sys.exit(f"{source}: {error}")
    digest = hashlib.sha256(text.encode())
    for path in files:
        with open(path, "rb") as stream:
            digest.update(stream.read())
    manifest["build_id"] = digest.hexdigest()[:16]
    line = json.dumps(manifest, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if len(line) > MAX_BYTES:
        sys.exit(f"{source}: the manifest has {len(line)} bytes, more than {MAX_BYTES}")
    with open(header, "w", encoding="utf-8") as out:
        out.write(f"// Made from ftplugin.yaml by embed_manifest.py; do not edit.\n#pragma once\n"
                  f"#define FT_EMBEDDED_ID \"{manifest['id']}\"\n"
                  f"#define FT_EMBEDDED_VERSION \"{manifest['version']}\"\n"
                  f"#define FT_EMBEDDED_BUILD_ID \"{manifest['build_id']}\"\n"
                  f"#define FT_EMBEDDED_MANIFEST \\\n{c_literal(line)}\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
