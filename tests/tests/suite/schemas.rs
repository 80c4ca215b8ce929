//! The published JSON Schemas: what the corpus contains is valid, and the command and the server give the same answer.

use std::fs;
use std::path::PathBuf;

use convengine_core::config::flow;
use convengine_core::json::schema::JsonSchema;
use convengine_core::pack;
use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::harness::{REGEX_ONLY, TestEnv, assert_one_line, orders_pack};

/// Folders of packs below `tests/packs`.
const FOLDERS: [&str; 5] = ["demo", "pipeline", "tools", "v1", "flow"];

/// All JSON files of the folders, with their paths.
fn files() -> Vec<(PathBuf, Value)> {
    let read = |folder: &str| fs::read_dir(root().join("tests/packs").join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let json = FOLDERS.iter().flat_map(|it| read(it)).filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    json.map(|path| (path.clone(), serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap())).collect()
}

fn compiled(schema: &Value) -> JsonSchema {
    JsonSchema::compile(schema).unwrap()
}

#[test]
#[on(no_database)]
fn every_pack_of_the_corpus_is_valid() {
    let schema = compiled(&pack::json_schema());
    let packs: Vec<_> = files().into_iter().filter(|file| file.1.get("name").is_some() && file.1.get("doc").is_none()).collect();
    let violations: Vec<String> =
        packs.iter().filter_map(|(path, pack)| Some(format!("{}: {}", path.display(), schema.find_violation(pack)?))).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    assert!(packs.len() > 200, "only {} packs", packs.len());
    let mut broken = packs[0].1.clone();
    broken["turns"][0]["request"]["path"] = json!(1);
    assert!(schema.find_violation(&broken).is_some());
}

#[test]
#[on(no_database)]
fn every_document_of_the_corpus_is_valid() {
    let schema = compiled(&flow::json_schema());
    let mut documents = Vec::new();
    for (path, file) in files() {
        let of_pack = file["documents"].as_array().cloned().unwrap_or_default();
        let whole = file.get("doc").map(|_| file.clone());
        documents.extend(of_pack.into_iter().chain(whole).map(|it| (path.clone(), it)));
    }
    let violations: Vec<String> =
        documents.iter().filter_map(|(path, document)| Some(format!("{}: {}", path.display(), schema.find_violation(document)?))).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    assert!(documents.len() > 10, "only {} documents", documents.len());
}

#[test]
#[on(no_database)]
fn every_ai_agent_of_the_corpus_is_valid() {
    let schema = compiled(&flow::agent_json_schema());
    let mut agents = 0;
    for file in ["shop", "thrifty", "front"] {
        let text = fs::read_to_string(root().join(format!("tests/packs/agent/{file}.json"))).unwrap();
        let pack: Value = serde_json::from_str(&text).unwrap();
        for document in pack["documents"].as_array().unwrap().iter().filter(|it| it["doc"] == "ai_agent") {
            assert_eq!(schema.find_violation(document), None, "{file}");
            agents += 1;
        }
    }
    assert_eq!(agents, 3);
}

#[test]
fn the_command_prints_a_schema_or_the_names() {
    let env = TestEnv::new();
    for (name, schema) in [("pack", pack::json_schema()), ("flow", flow::json_schema()), ("agent", flow::agent_json_schema())] {
        let printed = env.run(&["schema", name]);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{printed:?}");
        assert_eq!(serde_json::from_str::<Value>(&printed.stdout).unwrap(), schema);
    }
    assert_one_line(&env.run(&["schema", "talk"]), 2, &["'talk'", "pack, flow, agent"]);
    assert!(env.is_untouched(), "the command needs no database");
}

#[test]
fn the_server_lists_and_serves_the_schemas() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let list = server.get("/schemas").json();
    let served: Vec<(Value, Value)> = list["schemas"]
        .as_array()
        .unwrap()
        .iter()
        .map(|schema| {
            let answer = server.get(schema["url"].as_str().unwrap());
            assert_eq!((answer.status, answer.header("content-type")), (200, "application/schema+json"));
            (schema["name"].clone(), answer.json())
        })
        .collect();
    let expected =
        [(json!("pack"), pack::json_schema()), (json!("flow"), flow::json_schema()), (json!("agent"), flow::agent_json_schema())];
    assert_eq!(served, expected);
    let unknown = server.get("/schemas/talk");
    assert_eq!((unknown.status, unknown.json()["status"].as_u64()), (404, Some(404)));
    assert!(unknown.json()["message"].as_str().unwrap().contains("pack, flow, agent"), "{unknown:?}");
    assert_eq!(server.request("POST", "/schemas", &[], "").status, 405);
}
