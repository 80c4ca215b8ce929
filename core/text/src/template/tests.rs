//! The template language as tables of sources and outputs.

use serde_json::{Value, json};

use super::{RenderedTemplate, Template};

fn variables() -> Value {
    json!({
        "a": {"b": [1, {"c d": "x"}], "n": null, "f": 2.0, "empty": "", "k": "kk", "5": "five"},
        "t": "<'{{a}}'>",
        "three": 3,
        "half": 4.5,
        "yes": true,
        "word": "off",
        "name": "Zoë",
        "items": [{"sku": "A1", "qty": 2}, {"sku": "B2", "qty": 1}],
        "map": {"x": 1, "y": [2]},
        "none": [],
        "many": vec![0; 10_001],
        "big": "é".repeat(400_000),
        "context": {"mcp": {"answer": "42"}, "sum": 12},
    })
}

fn render(source: &str) -> RenderedTemplate {
    let variables = variables();
    Template::compile(source).unwrap_or_else(|error| panic!("{source}: {error}")).render(|name| variables.get(name))
}

fn assert_prints(rows: &[(&str, &str)]) {
    for (source, expected) in rows {
        let rendered = render(source);
        assert_eq!((rendered.text.as_str(), rendered.error), (*expected, None), "{source}");
    }
}

#[test]
fn outputs_print_values() {
    assert_prints(&[
        ("{{a.b[0]}}|[(${a['b'][1][\"c d\"]})]|[[${t}]]|{{ a?.f }}", "1|x|&lt;&#39;{{a}}&#39;&gt;|2.0"),
        ("#{a.f}[${a.f}][[[${a.f}]]]", "2.02.0[2.0]"),
        ("{{a.b}} {{t}}", r#"[1,{"c d":"x"}] <'{{a}}'>"#),
        ("[ ${ three } ] [[ ${three} ]] [( ${three} )] [[(${three})]]", "3 3 3 [3]"),
        (
            "[['<lit>']] [('<lit>')] [[|n ${name} ${t} ${a.n}.|]] [(|${three}${half}|)]",
            "&lt;lit&gt; <lit> n Zoë &lt;&#39;{{a}}&#39;&gt; . 34.5",
        ),
        ("[(1)] [(2.5)] [(true)] [('a' + ${three})] [(${three} + 1)]", "1 2.5 true a3 4"),
        ("[(${a.n} ?: 'd')][(${a.empty} ?: 'd')] [(${word} ? 'x' : 'y')] [(${three} ? 'x' : 'y')] [(${a.n} ? 'x')]", "d y x "),
        ("[(not ${a.n} and ${name} == 'Zoë')] [(${three} > 2 ? 'it''s' : ${name})]", "true it's"),
        ("/*[[${three}]]*/ <p th:text=\"x\"> {{'}}'}}", "/*3*/ <p th:text=\"x\"> }}"),
    ]);
}

#[test]
fn missing_values_print_as_nothing() {
    assert_prints(&[
        ("{{{a.f}}} #{{a.f}}", "{2.0} #2.0"),
        ("({{a.x.y}}{{nope}}{{a.n}}{{a.b[7]}}{{a.b.c}}{{a.b[7].z['q'][0]}}{{nope['x']}}{{name.x}}{{a.b[0 - 1]}})", "()"),
        ("({{nope?.size()}}{{a?.x?.trim()?.length()}})", "()"),
    ]);
}

#[test]
fn text_that_only_looks_like_an_output_is_kept() {
    for text in [
        r#"{"rows":[[1,2],["x"],[["a"],[true,null]]],"a":{"b":1}} # {x} [x] ${a} (x)]"#,
        "ticket [#12] [#abc def] [b]bold[/b] [[:alpha:]] [[ {\"a\":1} ]] [/x] # heading }} ]] )] &lt; $'x",
    ] {
        assert_eq!(render(text).text, text);
        assert_eq!(Template::compile(text).unwrap().literal(), Some(text));
    }
}

#[test]
fn expressions_calculate_and_compare() {
    assert_prints(&[
        (
            "{{three + half}} {{three * 2 - 10 % 4}} {{7 / 2}} {{-7 / 2}} {{7 / 2.0}} {{7.0 % 2}} {{1e21}} {{-three}}",
            "7.5 4 3 -3 3.5 1.0 1.0E21 -3",
        ),
        ("{{1 + 2 * 3}} {{(1 + 2) * 3}} {{10 - 2 - 3}} {{9 div 2 mod 3}} {{1 + 1 + 'a' + 1 + 1}}", "7 9 5 1 2a11"),
        ("{{'a' + a.n}} {{nope + 'a'}} {{'a' + 2.0}} {{'a' + map}} {{'a' + yes}}", r#"anull nulla a2.0 a{"x":1,"y":[2]} atrue"#),
        (
            "{{1 == 1.0}} {{three eq 3}} {{350000 == '350000'}} {{'true' == true}} {{a.n == null}} {{nope == a.x}} {{map == map}}",
            "true true false false true true true",
        ),
        (
            "{{1 != 2}} {{'a' NE 'b'}} {{2 < 10}} {{2 le 2}} {{3 gt 2.5}} {{'b' >= 'a'}} {{three lt 3}}",
            "true true true true true true false",
        ),
        ("{{nope < 0}} {{0 > nope}} {{nope <= a.n}} {{1 < nope}}", "true true true false"),
        (
            "{{!yes}} {{not yes}} {{yes and false}} {{yes AND 'on'}} {{yes || nope.size()}} {{false && 1 < 'a'}} {{yes or false and false}}",
            "false false false true true false true",
        ),
        (
            "{{three > 2 ? 'big' : 'small'}} {{three == 1 ? 'one' : three == 2 ? 'two' : 'three'}} {{yes ? a.b : 0}}",
            r#"big three [1,{"c d":"x"}]"#,
        ),
        ("{{a.n ?: 'd'}} {{a.empty ?: 'd'}} {{a.x.y ?: nope ?: 'e'}} {{name ?: 'd'}} {{false ?: 'd'}}", "d d e Zoë false"),
        (
            "{{'it''s'}} {{\"q\"\"q\"}} {{'\"'}} {{true}} {{NULL}}{{name[1]}} {{'__${name}__/__${three + 1}__'}}",
            "it's q\"q \" true o Zoë/4",
        ),
        ("{{a['k']}} {{a[k]}} {{a[5]}} {{map['x'] + map[\"x\"]}} {{a['b'][three - 2]['c ' + 'd']}}", "kk kk five 2 x"),
        ("{{context.agent.answer}} {{context['agent'].answer}} {{context.mcp.answer}} {{map.agent}}", "42 42 42 "),
    ]);
    let variables = json!({"context": {"agent": null, "mcp": 1}});
    assert_eq!(Template::compile("({{context.agent}})").unwrap().render(|name| variables.get(name)).text, "()");
}

#[test]
fn functions_read_texts_lists_and_maps() {
    assert_prints(&[
        (
            "{{items.size()}} {{map.size()}} {{none.isEmpty()}} {{map.isEmpty()}} {{a.empty.isEmpty()}} {{name.length()}}",
            "2 2 true false true 3",
        ),
        (
            "{{a.b.contains(1.0)}} {{a.b.contains('1')}} {{name.contains('oë')}} {{map.containsKey('x')}} {{map.containsKey('z')}}",
            "true false true true false",
        ),
        (
            "{{map.get('y').get(0)}} {{map.get('z')}}{{items.get(9)}} {{map.getOrDefault('z', 'd')}} {{map.getOrDefault('x', 'd')}}",
            "2  d 1",
        ),
        (
            "{{name.toUpperCase()}} {{name.toLowerCase()}} {{' x '.trim()}} {{name.equalsIgnoreCase('ZOË')}} {{name.equalsIgnoreCase(3)}}",
            "ZOË zoë x true false",
        ),
        ("{{name.substring(1)}} {{name.substring(0, 2)}} {{name.substring(3)}}|{{'ab'.toUpperCase().substring(1).length()}}", "oë Zo |1"),
        (
            "{{#strings.isEmpty(nope)}} {{#strings.isEmpty(' ')}} {{!#strings.isEmpty(name)}} {{#strings.isEmpty(none)}}",
            "true true true false",
        ),
        ("{{#strings.toUpperCase(name)}} {{#strings.toLowerCase('A' + 1)}} {{#strings.toUpperCase(nope)}}|", "ZOË a1 |"),
        (
            "{{#strings.defaultString(a.empty, 'd')}} {{#strings.defaultString(three, 'd')}} {{#strings.listJoin(a.b, '; ')}}",
            r#"d 3 1; {"c d":"x"}"#,
        ),
        ("{{#lists.size(items)}} {{#maps.containsKey(map, 'x')}}", "2 true"),
        ("{{#lists.isEmpty(items)}} {{#lists.isEmpty(nope)}}", "false true"),
        ("{{#strings.capitalize('éa b')}} {{#strings.capitalize(nope)}}|{{#strings.replace(name, 'o', 'OO')}}", "Éa b |ZOOë"),
        (
            "{{#dates.format('2026-03-04T09:05', 'dd.MM.yyyy HH:mm')}} {{#temporals.format('2026-03-04', 'd MMM')}}",
            "04.03.2026 09:05 4 Mar",
        ),
        (
            "{{#numbers.formatDecimal(1234.5, 1, 2)}} {{#numbers.formatDecimal(1234.5, 1, 2, 'COMMA')}} \
             {{#numbers.formatDecimal(1234.5, 1, 'POINT', 2, 'COMMA')}}",
            "1234.50 1234,50 1.234,50",
        ),
        ("{{#numbers.round(1.005, 2)}} {{#numbers.round(0 - 2.5, 0)}} {{#numbers.round(three, 2)}}", "1.01 -3.0 3.0"),
    ]);
}

#[test]
fn conditional_blocks_render() {
    assert_prints(&[
        ("[# th:if=\"${yes}\"]VIP [/][# th:unless=\"${yes}\"]STD [/]customer", "VIP customer"),
        ("\n [# th:if='${name == \"Zoë\"}'] a\n [/] b", "\n  a\n  b"),
        (
            "[# th:if=\"${nope.x}\"]1[/][# th:unless=\"${nope}\"]2[/][# th:if=\"${word}\"]3[/][# th:if=\"${a.empty}\"]4[/][# th:if=\"${none}\"]5[/]",
            "245",
        ),
        ("[# th:if=\"${yes}\" th:unless=\"${yes}\"]x[/][# th:if=\"${three &gt; 1 &amp;&amp; yes}\"]y[/]", "y"),
        ("[# th:if=\"${yes}\"]1[# th:if=\"${false}\"]2[/][# th:if=\"${yes}\"]3[/]4[/]", "134"),
        ("[# th:switch=\"${three}\"][# th:case=\"3\"]three[/][# th:case=\"${three}\"]again[/][# th:case=\"*\"]other[/][/]", "three"),
        ("[# th:switch=\"${name}\"] [# th:case=\"'x'\"]x[/] [# th:case=\"Zoë\"]z[/] [# th:case=\"*\"]other[/] [/]", "  z  "),
        ("[# th:switch=\"${nope}\"][# th:case=\"1\"]x[/][# th:case=\"*\"]other[/][/]", "other"),
        ("[#th:block th:if=\"${yes}\"]a[#th:block]b[/th:block][/th:block][#th:if=\"${yes}\"]c[/]", "abc"),
        ("[# th:text=\"${t}\"/][# th:utext=\"${t}\"]gone {{name}}[/][# th:text=\"word\" /]", "&lt;&#39;{{a}}&#39;&gt;<'{{a}}'>word"),
        ("[# th:with=\"x=${three},y=${x + 1}\" th:text=\"${x + y}\"/]{{x}}", "7"),
    ]);
}

#[test]
fn loops_render() {
    assert_prints(&[
        ("[# th:each=\"i : ${items}\"]-[(${i.sku})] x[(${i.qty})];[/]{{i}}", "-A1 x2;-B2 x1;"),
        (
            "[# th:each=\"i : ${items}\"]{{iStat.index}}{{iStat.count}}/{{iStat.size}} {{iStat.even}} {{iStat.odd}} {{iStat.first}} {{iStat.last}} {{iStat.current.sku}}\n[/]",
            "01/2 false true true false A1\n12/2 true false false true B2\n",
        ),
        ("[# th:each=\"i, s : ${items}\"]{{s.count}}{{s.last ? '' : ', '}}[/]", "1, 2"),
        ("[# th:each=\"e : ${map}\"]{{e.key}}={{e.value}} [/]", "x=1 y=[2] "),
        ("[# th:each=\"i : ${nope}\"]x[/][# th:each=\"i : ${none}\"]x[/][# th:each=\"i : ${three}\"]{{i}}[/]", "3"),
        ("[# th:each=\"i : ${items}\" th:if=\"${i.qty > 1}\" th:text=\"${i.sku}\"/]", "A1"),
        (
            "[# th:each=\"i : ${items}\"][# th:each=\"j : ${items}\"]{{iStat.index}}{{jStat.index}}{{i.sku}}{{j.sku}} [/][/]",
            "00A1A1 01A1B2 10B2A1 11B2B2 ",
        ),
        ("[# th:each=\"name : ${a.b}\"]{{name}},[/]{{name}}", "1,{\"c d\":\"x\"},Zoë"),
        ("[# th:each=\"i : ${items}\"][# th:switch=\"${i.qty}\"][# th:case=\"2\"]two[/][# th:case=\"*\"]{{i.qty}}[/][/] [/]", "two 1 "),
    ]);
}

#[test]
fn known_typos_are_accepted() {
    assert_prints(&[
        ("[# th:if=\"{${yes}\"]a[/][# th:if='{${yes}']b[/]", "ab"),
        ("[[{${name}]] [# th:if=\"${yes}\"][[${name}][/] [# th:if=\"$'||'{yes}\"][[$'||'{name}]] [($'||'{three})][/]", "Zoë Zoë Zoë 3"),
        ("[# th:if=\"${yes}\"][${name}][/]", "Zoë"),
    ]);
    assert_eq!(Template::compile("[[$'||'{x}]]").unwrap().source(), "[[$'||'{x}]]");
}

#[test]
fn invalid_templates_return_a_message() {
    for (source, expected) in [
        ("hé {{a", "unterminated '{{' at character 4; add '}}'"),
        ("{{}}", "'{{}}' is empty"),
        ("[(${ })]", "is not a path"),
        ("{{a b}}", "is not a path"),
        ("{{a +}}", "'}' was not expected"),
        ("[# th:if=\"${a} +\"]x[/]", "ends too early"),
        ("{{T(java.lang.Runtime).exec('x')}}", "is not a path"),
        ("{{new java.io.File('x')}}", "is not a path"),
        ("{{@bean.x}}", "which templates do not have"),
        ("[[*{x}]] [[@{x}]]", "which templates do not have"),
        ("[(#{message})]", "which templates do not have"),
        ("{{a.getClass()}}", "calls 'getClass()', which templates do not have; use one of size"),
        ("{{#ctx.x}}", "calls '#ctx.x'"),
        ("{{name.substring()}}", "calls 'substring' with 0 arguments; it takes 1 to 2"),
        ("{{a = 1}}", "'=' was not expected"),
        ("{{'a}}", "unterminated string"),
        ("{{yes ? 1}}", "without ':'"),
        ("{{99999999999999999999}}", "too large"),
        ("{{${a}}}", "is not a path"),
        ("[[ userText ]]", "without ${…}"),
        ("[(userText)]", "without ${…}"),
        ("[(${name)]", "')' was not expected"),
        ("[# th:if=\"${a}\"]\n[# th:if=\"${b}\"]x[/]", "line 1: a block tag has no end"),
        ("x\n[/]", "line 2: the end of a block tag has no beginning"),
        ("[#th:block th:if=\"${a}\"]x[/]", "use [/th:block]"),
        ("[# th:if=\"${a}\"]x[/th:block]", "use [/]"),
        ("[# th:if=\"${a}]x[/]", "is incomplete"),
        ("\n\n[# th:object=\"${a}\"]x[/]", "line 3: th:object: '${a}' is not a supported attribute"),
        ("[# th:if=\"a\"]x[/]", "without ${…}"),
        ("[# th:if=\"${a} b\"]x[/]", "'b' was not expected"),
        ("[#div th:if=\"${a}\"]x[/]", "'div' is not a block tag"),
        ("[# ]x[/]", "no attribute"),
        ("[# th:case=\"1\"]x[/]", "outside of a block with th:switch"),
        ("[# th:each=\"${a}\"]x[/]", "is not a loop"),
        ("[# th:with=\"${a}\"]x[/]", "without a name"),
        ("[# th:if=\"${a}\" th:if=\"${a}\"]x[/]", "two attributes"),
    ] {
        let error = Template::compile(source).map(|it| panic!("{source}: {it:?}")).unwrap_err();
        assert!(error.contains(expected), "{source}: {error}");
    }
}

#[test]
fn failed_expressions_print_nothing_and_record_the_error() {
    for (source, text, expected) in [
        ("a {{three + nope}} b\n{{1 / 0}}", "a  b\n", "line 1: a number and null cannot be added"),
        ("a\n{{1 / 0}}", "a\n", "line 2: a number is divided by zero"),
        ("{{9223372036854775807 + 1}}{{1e308 * 10}}", "", "too large"),
        ("{{1.0 / 0}}", "", "not a number"),
        ("{{nope ? 1 : 2}}", "", "a condition has no value"),
        ("{{three ? 1 : 2}}{{!name}}", "", "a condition is a number"),
        ("{{name && yes}}", "", "a condition is a string"),
        ("{{1 < 'a'}}", "", "cannot compare a number with a string"),
        ("{{yes + 1}}", "", "a boolean and a number cannot be added"),
        ("{{nope.size()}}", "", "cannot call 'size()' on a missing value"),
        ("{{three.size()}}", "", "'size()' does not fit a number"),
        ("{{name.substring(2, 1)}}", "", "beyond the end of the text"),
        ("[# th:if=\"${!three}\"]x[/][# th:unless=\"${!three}\"]y[/]z", "z", "a condition is a number"),
        ("[# th:each=\"i : ${1 / 0}\"]x[/]z", "z", "divided by zero"),
        ("[# th:with=\"x=${1 / 0}\"]({{x}})[/]", "()", "divided by zero"),
        ("[# th:switch=\"${1 / 0}\"]a[# th:case=\"*\"]x[/][/]z", "z", "divided by zero"),
    ] {
        let rendered = render(source);
        assert_eq!(rendered.text, text, "{source}");
        let error = rendered.error.unwrap_or_default();
        assert!(error.contains(expected), "{source}: {error}");
    }
}

#[test]
fn names_are_the_paths_from_outside_the_template() {
    for (source, expected) in [
        ("{{context.agent.finalAnswer}} {{user_input}} {{user_input}}", "context.agent.finalAnswer user_input"),
        ("{{a['b'].c[0].d}} {{a[key]}} {{a[i + 1].x}} {{x.size() + 1}}", "a a.b.c i x"),
        ("[# th:each=\"i : ${context.items}\"]{{i.sku}}{{iStat.index}}{{other}}[/]{{i}}", "context.items i other"),
        ("[# th:with=\"a=${b}\"]{{a.x}}[/][# th:switch=\"${c}\"][# th:case=\"${d}\"/][/]", "b c d"),
        ("[(|${a} b| + (${c} ?: ${d.e}))] [# th:if=\"${#strings.isEmpty(f ? g : 'h')}\"/]", "a c d.e f g"),
    ] {
        assert_eq!(Template::compile(source).unwrap().names().collect::<Vec<_>>().join(" "), expected, "{source}");
    }
}

#[test]
fn a_rendering_is_bounded() {
    let loops = render("[# th:each=\"i : ${many}\"]x[/]z");
    assert_eq!(loops.text, "z");
    assert!(loops.error.is_some_and(|it| it.contains("more than 10000 items")));
    let most = render("[# th:each=\"i : ${many.get(0)}\"]x[/]{{big}}{{big}}{{three}}");
    assert_eq!((most.text.chars().count(), most.error), (800_002, None));
    let long = render("{{big}}{{big}}\n{{big}}{{1 / 0}}");
    assert_eq!(long.text.chars().count(), 1_000_000);
    assert!(long.error.is_some_and(|it| it.contains("longer than 1000000 characters")));
    let doubling: String = ('b'..='z').fold("a=${big}".to_owned(), |it, c| format!("{it},{c}=${{{0}+{0}}}", char::from(c as u8 - 1)));
    let rendered = render(&format!("[# th:with=\"{doubling}\"]{{{{z.length()}}}}[/]"));
    assert!(rendered.error.is_some_and(|it| it.contains("more than 8000000 bytes")));
}

#[test]
fn too_deep_nesting_does_not_compile() {
    let nested = |depth: usize, open: &str, middle: &str, close: &str| format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
    let braced = |inner: String| format!("{{{{{inner}}}}}");
    for (open, middle, close) in
        [("(", "1", ")"), ("!", "true", ""), ("-", "1", ""), ("1 ? ", "1", " : 0"), ("1 ?: ", "1", ""), ("a[", "0", "]")]
    {
        assert!(Template::compile(&braced(nested(60, open, middle, close))).is_ok(), "{open}");
        for depth in [65, 100_000] {
            let error = Template::compile(&braced(nested(depth, open, middle, close))).unwrap_err();
            assert!(error.contains("nests deeper than 64"), "{open}: {error}");
        }
    }
    for open in ["[# th:if=\"${yes}\"]", "[#th:block]"] {
        let close = if open.contains("block") { "[/th:block]" } else { "[/]" };
        assert_eq!(render(&nested(30, open, &braced(nested(60, "(", "three", ")")), close)).text, "3");
        assert!(Template::compile(&nested(100_000, open, "x", close)).unwrap_err().contains("deeper than 64"), "{open}");
    }
    let with: String = (0..65).map(|it| format!(",x{it}=${{1}}")).collect();
    assert!(Template::compile(&format!("[# th:with=\"a=1{with}\"]x[/]")).unwrap_err().contains("deeper than 64"));
}

#[test]
fn long_but_flat_templates_compile() {
    let sum = vec!["1"; 50_000].join(" + ");
    let path = vec!["a"; 50_000].join(".");
    assert_eq!(render(&format!("{{{{{sum}}}}}{{{{{path}}}}}")).text, "50000");
}

/// Cuts, duplicates and mixes templates; every result compiles deterministically and renders within its bounds.
#[test]
fn mutated_templates_never_break_the_engine() {
    const SEEDS: [&str; 8] = [
        "a {{a.b[0]}} #{name ?: 'd'} [${a.f}] [(${t})] [[${t}]] é {{{x}}} [[1,2]]",
        "[# th:if=\"${three > 2 and !#strings.isEmpty(name)}\"]x[# th:unless='${yes}']y[/][/]",
        "[# th:each=\"i, s : ${items}\"]{{i.sku}} {{s.count * 2 - 7 / 2 % 3}}[/]",
        "[# th:switch=\"${three}\"][# th:case=\"3\"]three[/][# th:case=\"*\"]o[/][/]",
        "[#th:block th:with=\"x=${a},y=${x?.b}\" th:text=\"|t ${y} é|\"]z[/th:block]",
        "{{name.substring(1, 2).toUpperCase() + map.getOrDefault('z', \"q\")}} [[${a} ? 'x' : 1.5e3]]",
        "[[{${name}][/] $'||'{x} {{'__${name}__'}} [(|${three}|)] [# th:text=\"{${t}\"/]",
        "{{((((a['b'][1]['c d']))))}} {{-1 eq -1.0 ? 1 : not yes}} {{context.agent.x}}",
    ];
    let variables = variables();
    let mut state: u64 = 7;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let mut compiled = 0;
    for round in 0..6_000 {
        let mut text: Vec<char> = SEEDS[round % SEEDS.len()].chars().collect();
        for _ in 0..=random(3) {
            let (from, length) = (random(text.len()), random(12));
            let piece: Vec<char> = text[from..text.len().min(from + length)].to_vec();
            let other: Vec<char> = SEEDS[random(SEEDS.len())].chars().skip(random(40)).take(length).collect();
            match random(3) {
                0 => drop(text.drain(from..from + piece.len())),
                1 => drop(text.splice(from..from, piece)),
                _ => drop(text.splice(from..from, other)),
            }
        }
        let source: String = text.into_iter().collect();
        match (Template::compile(&source), Template::compile(&source)) {
            (Ok(template), Ok(again)) => {
                compiled += 1;
                assert_eq!(template, again);
                let first = template.render(|name| variables.get(name));
                assert_eq!(first, again.render(|name| variables.get(name)), "{source}");
                assert!(first.text.chars().count() <= 1_000_000, "{source}");
            }
            (Err(error), Err(again)) => assert!(!error.is_empty() && error == again, "{source}"),
            (one, other) => panic!("{source}: {one:?} {other:?}"),
        }
    }
    assert!((600..5_400).contains(&compiled), "{compiled}");
}
