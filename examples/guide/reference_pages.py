"""Make the API reference read well: a hook of MkDocs that goes through every page.

Docstrings name other functions in the form ``:func:`name```, which becomes a link here. Neighboring
parameters with the same description are listed together.
"""

import re

ROLE = re.compile(r":(?:attr|class|func|meth|mod):<code>~?([\w.]+)</code>")
PARAMETER = re.compile(
    r'<li class="doc-section-item field-body">\s*<b><code>(?P<name>[^<]*)</code></b>(?:(?!</li>).)*?'
    r'<div class="doc-md-description">\s*(?P<words>.*?)\s*</div>\s*</li>\s*',
    flags=re.DOTALL,
)
# a dash before nothing, where a type says all
EMPTY = re.compile(r'\u2013\s*<div class="doc-md-description">\s*</div>')


def on_page_content(html, **_):
    return EMPTY.sub("", listed_together(ROLE.sub(link, html)))


def link(match):
    """Write a reference that becomes a link if the name is on some page."""
    name = match[1]
    return f'<autoref identifier="{name}" optional><code>{name.removeprefix("graphsoft.")}</code></autoref>'


def listed_together(html):
    groups = []
    for item in PARAMETER.finditer(html):
        before = groups[-1][-1] if groups else None
        if before and item.start() == before.end() and item["words"] == before["words"]:
            groups[-1].append(item)
        else:
            groups.append([item])
    parts, done = [], 0
    for group in groups:
        parts += [html[done : group[0].start()], group[0][0] if len(group) == 1 else joined(group)]
        done = group[-1].end()
    return "".join([*parts, html[done:]])


def joined(group):
    """Write several parameters as one item; their types differ, and are left out."""
    names = ", ".join(f"<b><code>{item['name']}</code></b>" for item in group)
    words = f'<div class="doc-md-description">{group[0]["words"]}</div>'
    return f'<li class="doc-section-item field-body">{names} \u2013 {words}</li>'
