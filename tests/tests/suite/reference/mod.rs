//! The reference: every example on its pages gives what the page says, and no name that the core knows is missing.

mod blocks;
mod examples;

use std::collections::{BTreeMap, BTreeSet};

use convengine_core::config::TASK_MEMBERS;
use convengine_core::config::flow::{json_schema, system_entity_names};
use convengine_core::json::path::operator_names;
use convengine_core::pack::{Pack, talk_words};
use convengine_core::text::{expr, interpolation, template};
use convengine_core::turn::LLM_PURPOSES;
use convengine_player::{KnownDifferences, ServerOptions, play};
use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Map, Value, json};

use blocks::{Block, parse_blocks};

/// The pages, and the fewest examples, packs and talks on each.
pub const PAGES: [(&str, usize); 7] =
    [("expressions", 170), ("templates", 150), ("entities", 190), ("matching", 10), ("json-paths", 80), ("packs", 12), ("talks", 4)];

/// Blocks that are no examples: packs and what examples read.
const OTHER_KINDS: [&str; 5] = ["json context", "json entity", "json node", "json pack", "json part"];

fn read_page(name: &str) -> String {
    let path = root().join("docs/reference").join(name).with_extension("md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn parse_json(page: &str, block: &Block) -> Value {
    serde_json::from_str(&block.text()).unwrap_or_else(|error| panic!("{page}.md:{}: {error}", block.line))
}

fn has_kind(block: &Block, kind: &str) -> bool {
    block.info.join(" ").starts_with(kind)
}

#[test]
#[on(no_database)]
fn examples_give_the_results_on_the_page() {
    let mut failures = Vec::new();
    for (page, _) in PAGES {
        let blocks = parse_blocks(&read_page(page));
        let entities = blocks.iter().filter(|it| has_kind(it, "json entity")).map(|it| parse_json(page, it)).collect();
        let mut context = examples::Context { entities, ..examples::Context::default() };
        for block in &blocks {
            if has_kind(block, "json context") {
                context.document = parse_json(page, block);
            }
            for example in block.examples() {
                let Some(result) = examples::run(block, &context, &example.source) else { continue };
                if result != example.result {
                    failures.push(format!(
                        "{page}.md:{} {}: the page says {}, but it is {result}",
                        example.line, example.source, example.result
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
#[on(no_database)]
fn pages_have_executed_blocks_only() {
    for (page, fewest) in PAGES {
        let mut count = 0;
        for block in parse_blocks(&read_page(page)) {
            let is_example = examples::run(&block, &examples::Context::default(), "1").is_some();
            let is_talk = block.word(0) == "talk";
            assert!(is_example || is_talk || OTHER_KINDS.iter().any(|it| has_kind(&block, it)), "{page}.md:{} is not executed", block.line);
            count += if is_example { block.examples().len() } else { 1 };
        }
        assert!(count >= fewest, "{page} has only {count} examples");
    }
}

#[test]
#[on(no_database)]
fn nodes_are_valid() {
    for (page, _) in PAGES {
        for block in parse_blocks(&read_page(page)).iter().filter(|it| has_kind(it, "json node")) {
            let node = parse_json(page, block);
            let ends = [("start", "Start"), ("end", "End")].map(|end| json!({"id": end.0, "type": end.0, "name": end.1, "data": {}}));
            let edges = json!([{"id": "a", "source": "start", "target": node["id"]}, {"id": "b", "source": node["id"], "target": "end"}]);
            let graph = json!({"id": "r", "kind": "root", "entry": "start", "nodes": [ends[0], node, ends[1]], "edges": edges});
            let document =
                json!({"schema_version": "1.0", "doc": "conversation_flow", "id": "f", "name": "F", "root": "r", "graphs": [graph]});
            let (_, issues) = Pack::parse(&json!({"name": "n", "documents": [document]}).to_string()).unwrap().compile();
            assert!(issues.is_empty(), "{page}.md:{}: {issues:?}", block.line);
        }
    }
}

/// The packs of a page by file name, and those that are played, with their lines.
struct PagePacks {
    files: BTreeMap<String, String>,
    played: Vec<(usize, Pack)>,
}

fn read_packs(page: &str) -> PagePacks {
    let blocks = parse_blocks(&read_page(page));
    let mut packs = PagePacks { files: BTreeMap::new(), played: Vec::new() };
    let mut base = Value::Null;
    for block in &blocks {
        let whole = if has_kind(block, "json pack") {
            packs.files.insert(block.word(2).to_owned(), block.text());
            let pack = parse_json(page, block);
            if base.is_null() {
                base = pack.clone();
            }
            pack
        } else if has_kind(block, "json part") {
            let part = parse_json(page, block);
            let mut whole = merge(base.clone(), part.clone());
            whole["turns"] = part.get("turns").cloned().unwrap_or_else(|| json!([]));
            whole
        } else {
            continue;
        };
        packs
            .played
            .push((block.line, Pack::parse(&whole.to_string()).unwrap_or_else(|error| panic!("{page}.md:{}: {error}", block.line))));
    }
    for block in blocks.iter().filter(|block| block.word(0) == "talk") {
        let config = |file: &str| packs.files.get(file).cloned().ok_or_else(|| "it is not on the page".to_owned());
        let talk = Pack::parse_talk(&(block.text() + "\n"), config).unwrap_or_else(|error| panic!("{page}.md:{}: {error}", block.line));
        packs.played.push((block.line, talk));
    }
    packs
}

/// Adds a part to a pack: members of objects and elements of lists are added, other values are replaced.
fn merge(base: Value, part: Value) -> Value {
    match (base, part) {
        (Value::Object(base), Value::Object(part)) => {
            let mut merged = base;
            for (name, value) in part {
                let value = match merged.shift_remove(&name) {
                    Some(old) => merge(old, value),
                    None => value,
                };
                merged.insert(name, value);
            }
            Value::Object(merged)
        }
        (Value::Array(base), Value::Array(part)) => base.into_iter().chain(part).collect(),
        (_, part) => part,
    }
}

#[test]
#[on(no_database)]
fn packs_and_talks_pass() {
    let folder = std::env::temp_dir().join(format!("convengine-reference-{}", uuid::Uuid::new_v4()));
    std::fs::create_dir(&folder).unwrap();
    let mut failures = Vec::new();
    for (page, _) in PAGES {
        for (line, pack) in read_packs(page).played {
            let (_, issues) = pack.compile();
            assert!(issues.is_empty(), "{page}.md:{line}: {issues:?}");
            let path = folder.join(format!("{page}-{line}.json"));
            std::fs::write(&path, serde_json::to_string(&pack).unwrap()).unwrap();
            let report = play(&pack, &ServerOptions::default(), &path, &KnownDifferences::default());
            if !report.has_passed() {
                failures.push(format!("{page}.md:{line}: {report:#?}"));
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Panics when a page lacks one of these texts.
fn assert_mentions(page: &str, texts: impl IntoIterator<Item = String>) {
    let content = read_page(page);
    let missing: Vec<String> = texts.into_iter().filter(|it| !content.contains(it)).collect();
    assert!(missing.is_empty(), "{page} lacks {missing:?}");
}

#[test]
#[on(no_database)]
fn names_of_the_core_are_on_the_pages() {
    let heading = |level: &str, names: Vec<&'static str>| names.into_iter().map(|name| format!("\n{level} {name}\n")).collect::<Vec<_>>();
    let code = |names: Vec<&'static str>| names.into_iter().map(|name| format!("`{name}")).collect::<Vec<_>>();
    assert_mentions("expressions", heading("###", expr::function_names()));
    assert_mentions("templates", heading("####", interpolation::filter_names()));
    assert_mentions("templates", template::function_names().into_iter().map(|it| format!("`{it}")));
    assert_mentions("entities", heading("##", system_entity_names()));
    assert_mentions("json-paths", code(operator_names()));
    assert_mentions("packs", code(LLM_PURPOSES.to_vec()));
    assert_mentions("packs", code(TASK_MEMBERS.to_vec()));
    assert_mentions("talks", code(talk_words()));
}

#[test]
#[on(no_database)]
fn members_of_packs_are_on_the_page() {
    let packs = read_packs("packs").played;
    let mut names: BTreeSet<String> = BTreeSet::new();
    for (_, pack) in &packs {
        let pack = serde_json::to_value(pack).unwrap();
        let list = |name: &str| pack[name].as_array().cloned().unwrap_or_default();
        let turns = list("turns");
        let within = |name: &str| turns.iter().flat_map(|turn| turn[name].as_array().cloned().unwrap_or_default()).collect::<Vec<_>>();
        let requests = turns.iter().map(|it| it["request"].clone()).collect();
        for objects in [vec![pack.clone()], list("llm"), list("http"), within("answers"), within("checks"), requests, turns.clone()] {
            names.extend(objects.iter().filter_map(Value::as_object).flat_map(Map::keys).cloned());
        }
    }
    assert!(names.len() >= 50, "{names:?}");
    let page = read_page("packs");
    let is_missing = |name: &&String| !page.contains(&format!("`{name}`")) && !page.contains(&format!("`{{\"{name}\""));
    let missing: Vec<&String> = names.iter().filter(is_missing).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
#[on(no_database)]
fn talks_show_every_kind_of_check() {
    let checks = read_packs("talks").played.into_iter().flat_map(|it| it.1.turns).flat_map(|it| it.checks);
    let kinds: BTreeSet<String> =
        checks.map(|check| format!("{:?}", check.check).split(['(', ' ']).next().unwrap_or_default().to_owned()).collect();
    assert_eq!(kinds.len(), 14, "{kinds:?}");
}

/// The properties of the part of a schema that has one of this name.
fn properties_beside(schema: &Value, name: &str) -> Vec<String> {
    let own = schema["properties"].as_object().filter(|it| it.contains_key(name)).map(|properties| properties.keys().cloned().collect());
    let inner = || match schema {
        Value::Object(members) => members.values().map(|member| properties_beside(member, name)).find(|properties| !properties.is_empty()),
        Value::Array(items) => items.iter().map(|item| properties_beside(item, name)).find(|properties| !properties.is_empty()),
        _ => None,
    };
    own.or_else(inner).unwrap_or_default()
}

#[test]
#[on(no_database)]
fn members_of_slots_and_entities_are_on_the_pages() {
    let schema = json_schema();
    for (page, member, fewest) in
        [("matching", "prefill", 17), ("matching", "min_length", 7), ("entities", "synonyms", 2), ("entities", "max_edits", 1)]
    {
        let names = properties_beside(&schema, member);
        assert!(names.len() >= fewest, "{member}: {names:?}");
        let content = read_page(page);
        let forms = |name: &String| [format!("`{name}`"), format!(".{name}`"), format!("\"{name}\"")];
        let missing: Vec<&String> = names.iter().filter(|name| !forms(name).iter().any(|form| content.contains(form))).collect();
        assert!(missing.is_empty(), "{page} lacks {missing:?}");
    }
}
