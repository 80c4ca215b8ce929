//! Text targets: templates, formulas and JSON paths of the rows.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use anyhow::Result;
use convengine_core::json::path::JsonPath;
use convengine_core::text::template::{Formula, Template};
use serde_json::{Value, json};

use super::super::{FuzzResult, Target, seeds};
use super::{describe_error, require};

/// Templates.
pub const TEMPLATE: Target = Target { name: "template", seeds: templates, read: read_template };

/// Expressions.
pub const FORMULA: Target = Target { name: "expression", seeds: formulas, read: read_formula };

/// JSON paths with filters.
pub const PATH: Target = Target { name: "path", seeds: paths, read: read_path };

/// The maximum length of a rendered template, in bytes.
const MAX_RENDERED_BYTES: usize = 16 << 20;

fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        json!({
            "a": [1, 2, 3], "b": "text", "intent": "J", "state": "IDLE", "user_input": "my order <b>", "schemaComplete": false,
            "context": {"orderNumber": "A1", "gone": null, "deep": {"er": [{"x": 1.5}, {"x": "2"}]}},
            "inputParams": {"n": 7, "ratio": 0.7, "ten": "10", "name": "Bob", "items": [{"q": 1}, {"q": 2}], "tags": ["a", "b"], "flag": true, "empty": ""},
            "args": {"id": "P9", "n": 3}, "principal": 200, "rate": 5, "big": i64::MAX, "nul": null, "x": {"x": {"x": 1}}
        })
    })
}

fn to_inputs(texts: Vec<String>) -> Vec<Vec<u8>> {
    texts.into_iter().filter(|text| text.len() < 8_000).map(String::into_bytes).collect()
}

fn templates() -> Result<Vec<Vec<u8>>> {
    let mut texts = seeds::cells()?;
    texts.retain(|text| ["{{", "[(", "[[", "[#", "#{", "${"].iter().any(|mark| text.contains(mark)));
    texts.extend(
        ["[# th:each=\"it : ${a}\"][(${it})][/]", "[# th:if=\"${b == 'text'}\"]x[/]", "#{context.deep.er[0].x}"].map(str::to_owned),
    );
    Ok(to_inputs(texts))
}

fn read_template(input: &[u8]) -> FuzzResult {
    let source = String::from_utf8_lossy(input);
    let compiled = match Template::compile(&source) {
        Ok(compiled) => compiled,
        Err(reason) => return Ok(describe_error(reason)),
    };
    let again = Template::compile(compiled.source());
    require(again.as_ref() == Ok(&compiled), || "differs when compiled again".to_owned())?;
    let names_read = RefCell::new(BTreeSet::new());
    let rendered = compiled.render(|name| {
        names_read.borrow_mut().insert(name.to_owned());
        document().get(name)
    });
    require(rendered.text.len() <= MAX_RENDERED_BYTES, || format!("renders {} bytes", rendered.text.len()))?;
    require(compiled.render(|name| document().get(name)) == rendered, || "differs when rendered again".to_owned())?;
    if let Some(literal) = compiled.literal() {
        require(rendered.text == literal && rendered.error.is_none(), || "renders a literal differently".to_owned())?;
    }
    for name in names_read.into_inner() {
        let known = compiled.names().any(|own| own == name || own.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.')));
        // A bare name in brackets is usually a key, which is not listed among the names.
        let in_brackets = source.split('[').skip(1).any(|rest| rest.trim_start().starts_with(name.as_str()));
        require(known || in_brackets, || format!("reads '{name}', which is not one of its names"))?;
    }
    Ok(format!("{:?} {:?}", compiled.names().count().min(5), rendered.error.map(describe_error)))
}

fn formulas() -> Result<Vec<Vec<u8>>> {
    let mut texts = Vec::new();
    for cell in seeds::cells()? {
        texts.extend(cell.split("${").skip(1).filter_map(|rest| rest.split('}').next()).map(str::to_owned));
    }
    let own = [
        "principal * rate / 100",
        "7 % 4 - -2",
        "principal > 100 ? 'high' : 'low'",
        "#numbers.round(principal / 3, 2)",
        "#strings.isEmpty(b) or !context.gone",
        "a[0] + context.deep.er[1].x",
        "'Dear ' + inputParams.name + \"!\"",
        "inputParams?.name ?: 'nobody'",
        "(a and b) or (principal >= 3 && rate != 4)",
    ];
    texts.extend(own.map(str::to_owned));
    texts.sort();
    texts.dedup();
    Ok(to_inputs(texts))
}

fn read_formula(input: &[u8]) -> FuzzResult {
    let source = String::from_utf8_lossy(input);
    let compiled = match Formula::compile(&source) {
        Ok(compiled) => compiled,
        Err(reason) => return Ok(describe_error(reason)),
    };
    let value = compiled.evaluate(&|name| document().get(name));
    require(compiled.evaluate(&|name| document().get(name)) == value, || "differs when evaluated again".to_owned())?;
    Ok(match value {
        Ok(value) => format!("{:?}", std::mem::discriminant(&value)),
        Err(reason) => describe_error(reason),
    })
}

fn paths() -> Result<Vec<Vec<u8>>> {
    let mut texts = seeds::cells()?;
    texts.retain(|text| text.starts_with('$') || text.starts_with('@') || text.contains(" == "));
    let own = [
        "$.inputParams.items[?(@.q > 1)].q",
        "$..q",
        "$[?(@.inputParams.name =~ /bo.*/i && !(@.a size 3 || @.b contains 'x'))]",
        "$['intent','state']",
        "$.inputParams.items[0:1:2].length()",
        "$[?(@.inputParams.tags subsetof ['a','b'])]",
        "$.a[-1]",
        "schemaComplete == false || $.principal >= 7.5e1",
    ];
    texts.extend(own.map(str::to_owned));
    Ok(to_inputs(texts))
}

fn read_path(input: &[u8]) -> FuzzResult {
    let source = String::from_utf8_lossy(input);
    let compiled = match JsonPath::compile(&source) {
        Ok(compiled) => compiled,
        Err(reason) => return Ok(describe_error(reason)),
    };
    let document = document();
    let (is_match, first) = (compiled.matches(document), compiled.first(document));
    require(!is_match || first.is_some(), || "matches but finds nothing".to_owned())?;
    require(!compiled.has_value(document) || first.is_some(), || "has a value but finds nothing".to_owned())?;
    let value = compiled.value(document);
    if let Some(members) = compiled.members() {
        let used = document.as_object().into_iter().flatten().filter(|it| members.contains(it.0));
        let reduced = Value::Object(used.map(|(key, value)| (key.clone(), value.clone())).collect());
        require(compiled.matches(&reduced) == is_match, || format!("depends on more than {members:?}"))?;
    }
    Ok(format!("{is_match} {:?} {}", value.map(|it| std::mem::discriminant(&it)), compiled.members().map_or(9, |names| names.len().min(4))))
}
