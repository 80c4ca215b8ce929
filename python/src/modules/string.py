def __make_string__():
    import re

    def capwords(s, sep=None):
        return (sep or ' ').join([word.capitalize() for word in s.split(sep)])

    # $$, $name, ${name}, or a dollar sign that begins none of them.
    placeholder = re.compile(r'\$(?:(\$)|([_a-zA-Z][_a-zA-Z0-9]*)|\{([_a-zA-Z][_a-zA-Z0-9]*)\}|())')

    def replacement(match, values, strict):
        name = match.group(2) or match.group(3)
        if name is not None and (strict or name in values):
            return str(values[name])
        if match.group(1) is not None:
            return '$'
        if name is None and strict:
            raise ValueError('Invalid placeholder in string')
        return match.group(0)

    class Template:
        def __init__(self, template):
            self.template = template

        def _fill(self, mapping, keywords, strict):
            values = {}
            values.update(mapping)
            values.update(keywords)

            parts = []
            end = 0
            for match in placeholder.finditer(self.template):
                parts.append(self.template[end:match.start()])
                parts.append(replacement(match, values, strict))
                end = match.end()
            parts.append(self.template[end:])
            return ''.join(parts)

        def substitute(self, mapping={}, **keywords):
            return self._fill(mapping, keywords, True)

        def safe_substitute(self, mapping={}, **keywords):
            return self._fill(mapping, keywords, False)

        def get_identifiers(self):
            names = []
            for match in placeholder.finditer(self.template):
                name = match.group(2) or match.group(3)
                if name is not None and name not in names:
                    names.append(name)
            return names

    class Module:
        pass

    module = Module()
    module.ascii_lowercase = 'abcdefghijklmnopqrstuvwxyz'
    module.ascii_uppercase = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
    module.ascii_letters = module.ascii_lowercase + module.ascii_uppercase
    module.digits = '0123456789'
    module.hexdigits = '0123456789abcdefABCDEF'
    module.octdigits = '01234567'
    module.punctuation = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'
    module.whitespace = ' \t\n\r\x0b\x0c'
    module.printable = module.digits + module.ascii_letters + module.punctuation + module.whitespace
    module.capwords = capwords
    module.Template = Template
    return module


__string__ = __make_string__()
