//! Knowledge bases over HTTP, on the command line and in packs.

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::flows::{JSON, assert_refused, desk, edges, send, serve_desk};
use crate::harness::{REGEX_ONLY, Server, TestEnv, assert_one_line, orders_pack, wait_until};
use crate::observability::read_metrics;

const KNOWLEDGE: &str = "/v1/agents/desk/knowledge";

fn put(server: &Server, id: &str, text: &str) -> (u16, Value) {
    let answer = send(server, "POST", KNOWLEDGE, &json!({"id": id, "title": "Fees", "text": text, "url": "https://bank.example/fees"}));
    (answer.status, answer.json())
}

fn found(server: &Server, query: &str) -> Vec<String> {
    let answer = server.get(&format!("{KNOWLEDGE}/search?q={query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    body["fused"].as_array().unwrap().iter().map(|hit| hit["chunk_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn sources_are_stored_searched_replaced_and_deleted() {
    let (_env, server) = serve_desk(&desk("Desk"), &[]);
    let (status, stored) = put(&server, "fees", "A card costs five euros.\n\nTransfers are free.");
    assert_eq!((status, &stored["id"], &stored["status"], &stored["chunks"]), (201, &json!("fees"), &json!("ready"), &json!(1)));
    assert_eq!((&stored["locale"], &stored["progress"], &stored["error"]), (&json!("en-US"), &json!(1), &Value::Null));
    assert_eq!(put(&server, "gebühren/1", "Karten kosten nichts.").0, 201);
    assert_eq!(server.get(&format!("{KNOWLEDGE}/fees")).json(), stored);
    let listed = server.get(KNOWLEDGE).json();
    assert_eq!(listed["sources"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect::<Vec<_>>(), ["fees", "gebühren/1"]);

    let answer = server.get(&format!("{KNOWLEDGE}/search?q=What%20do%20cards%20cost&top_k=1&sources=fees,none")).json();
    assert_eq!((&answer["query"], &answer["vector"], &answer["lists"]), (&json!("What do cards cost"), &json!([]), &json!(["keyword"])));
    let hit = &answer["keyword"][0];
    assert_eq!((&hit["source_id"], &hit["chunk_id"], &hit["title"]), (&json!("fees"), &json!("fees#1"), &json!("Fees")));
    assert!(hit["text"].as_str().is_some_and(|it| it.starts_with("A card costs")), "{hit}");
    let score = hit["score"].as_f64().unwrap();
    let conf = answer["conf"].as_f64().unwrap();
    assert!((conf - score / (score + 1.5)).abs() < 1e-5 && conf == answer["fused"][0]["conf"], "{answer}");
    assert_eq!(answer["fused"][0]["score"], 1.0);
    assert_eq!(found(&server, "weather"), [""; 0]);

    assert_eq!(put(&server, "fees", "Accounts only.").0, 201);
    assert_eq!((found(&server, "transfers"), found(&server, "account")), (vec![], vec!["fees#1".to_owned()]));
    assert_eq!(server.request("DELETE", &format!("{KNOWLEDGE}/geb%C3%BChren%2F1"), &[], "").status, 204);
    assert_refused(&server.request("DELETE", &format!("{KNOWLEDGE}/geb%C3%BChren%2F1"), &[], ""), 404, "source_not_found");
    assert_eq!(found(&server, "Karten"), [""; 0]);
}

#[test]
fn documents_of_other_formats_become_text() {
    let (_env, server) = serve_desk(&desk("Desk"), &[]);
    let page = "<title>Opening hours</title><script>secret()</script><h1>Weekdays</h1><p>The branch opens at nine.";
    let raw =
        |kind: &str, query: &str, body: Vec<u8>| server.request("POST", &format!("{KNOWLEDGE}?{query}"), &[("Content-Type", kind)], body);
    let answer = raw("text/html; charset=utf-8", "id=hours", page.into());
    assert_eq!((answer.status, answer.json()["title"].clone()), (201, json!("Opening hours")), "{answer:?}");
    assert_eq!((found(&server, "branch"), found(&server, "secret")), (vec!["hours#1".to_owned()], vec![]));
    let sections = ["five ".repeat(300), "ten ".repeat(400)].map(|it| format!("# Section\n\n{it}")).join("\n\n");
    assert_eq!(raw("text/markdown", "id=md&title=Cards", sections.into()).json()["chunks"], 2);
    let answer = raw("application/pdf", "id=pdf&title=Terms", pdf("Deposits mature yearly"));
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(found(&server, "deposit"), ["pdf#1"]);
    for (kind, body, status, code) in [
        ("application/pdf", b"%PDF-1.4 nothing".to_vec(), 422, "unreadable_document"),
        ("text/plain", vec![0xff], 422, "unreadable_document"),
        ("text/plain", b" \n ".to_vec(), 422, "empty_text"),
        ("text/html", "<div>".repeat(50_000).into_bytes(), 422, "unreadable_document"),
        ("image/png", vec![1], 415, "unsupported_media_type"),
        ("text/plain", vec![b'a'; (10 << 20) + 1], 413, "source_too_large"),
    ] {
        assert_refused(&raw(kind, "id=bad", body), status, code);
    }
    assert_eq!(server.get(KNOWLEDGE).json()["sources"].as_array().unwrap().len(), 3);
}

const HELVETICA: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";

/// A PDF with one line of text.
fn pdf(text: &str) -> Vec<u8> {
    pdf_of(HELVETICA, &[&format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET")])
}

/// A PDF with a font and pages.
fn pdf_of(font: &str, pages: &[&str]) -> Vec<u8> {
    let places = (0..pages.len()).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect::<String>();
    let mut objects =
        vec!["<</Type/Catalog/Pages 2 0 R>>".to_owned(), format!("<</Type/Pages/Kids[{places}]/Count {}>>", pages.len()), font.to_owned()];
    for (index, content) in pages.iter().enumerate() {
        let entries = format!("/Contents {} 0 R/Resources<</Font<</F1 3 0 R>>>>", 5 + 2 * index);
        objects.push(format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]{entries}>>"));
        objects.push(format!("<</Length {}>>stream\n{content}\nendstream", content.len()));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file += &format!("{} 0 obj\n{object}\nendobj\n", index + 1);
    }
    let start = file.len();
    file += &format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    offsets.iter().for_each(|it| file += &format!("{it:010} 00000 n \n"));
    file += &format!("trailer\n<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
    file.into_bytes()
}

#[test]
fn documents_that_cannot_be_read_whole_are_partial() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let raw =
        |kind: &str, query: &str, body: Vec<u8>| server.request("POST", &format!("{KNOWLEDGE}?{query}"), &[("Content-Type", kind)], body);
    let state = |id: &str| {
        let source = server.get(&format!("{KNOWLEDGE}/{id}")).json();
        (source["status"].clone(), source["unreadable"].clone(), source["progress"].clone())
    };
    let whole = (json!("ready"), json!({"characters": 0, "pages": 0}), json!(1));
    assert_eq!(raw("application/pdf", "id=whole", pdf("Deposits mature yearly")).status, 201);
    assert_eq!(state("whole"), whole);

    // A font that the document does not have, and a scanned page.
    let pages = ["BT /F1 12 Tf 72 720 Td (Loans cost interest) Tj /F7 12 Tf (abc) Tj ET", "BI /W 1 /H 1 /BPC 8 /CS /G ID x EI"];
    let document = pdf_of(HELVETICA, &pages);
    let answer = raw("application/pdf", "id=part", document.clone());
    assert_eq!((answer.status, &answer.json()["status"]), (201, &json!("partial")), "{answer:?}");
    assert_eq!(state("part"), (json!("partial"), json!({"characters": 3, "pages": 1}), json!(1)));
    assert_eq!(found(&server, "loan"), ["part#1"]);

    let latin = b"<meta charset=windows-1252><p>Un<b>glaub</b>liche Geb\xfchren".to_vec();
    assert_eq!(raw("text/html", "id=latin&locale=de", latin).status, 201);
    assert_eq!(
        (state("latin"), found(&server, "unglaubliche"), found(&server, "Geb%C3%BChr")),
        (whole.clone(), vec!["latin#1".to_owned()], vec!["latin#1".to_owned()])
    );
    assert_eq!(raw("text/plain; charset=\"ISO-8859-1\"", "id=plain&locale=de", b"\xdcberweisung".to_vec()).status, 201);
    assert_eq!((state("plain"), found(&server, "%C3%9Cberweisung")), (whole, vec!["plain#1".to_owned()]));
    assert_eq!(raw("text/plain", "id=holes&locale=de", b"\xdcberweisung".to_vec()).json()["unreadable"]["characters"], 1);
    assert_refused(&raw("text/plain; charset=runes", "id=bad", b"x".to_vec()), 422, "unreadable_document");

    let file = env.write("terms.pdf", "");
    std::fs::write(&file, document).unwrap();
    let output = env.run(&["knowledge", "add", &file, "--assistant", "desk"]);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (0, "terms: 1 chunk (partial: 3 characters and 1 page cannot be read)\n"),
        "{output:?}"
    );
    let listed = env.run(&["knowledge", "list", "--assistant", "desk"]).stdout;
    assert!(listed.contains("terms partial chunks=1") && listed.contains("(3 characters and 1 page cannot be read)"), "{listed}");
    std::fs::write(&file, b"\xdcberweisung").unwrap();
    let text = file.replace(".pdf", ".txt");
    std::fs::rename(&file, &text).unwrap();
    let output = env.run(&["knowledge", "add", &text, "--assistant", "desk", "--charset", "windows-1252"]);
    assert_eq!(output.stdout, "terms: 1 chunk\n", "{output:?}");

    let exported: Value = serde_json::from_str(&env.run(&["export"]).stdout).unwrap();
    let row = exported["knowledge"].as_array().unwrap().iter().find(|it| it["id"] == "part").cloned().unwrap();
    assert_eq!(row["unreadable_pages"], 1);
    let copy = TestEnv::with_pack(&exported);
    let listed = copy.run(&["knowledge", "list", "--assistant", "desk"]).stdout;
    assert!(listed.contains("part partial") && listed.contains("(3 characters and 1 page cannot be read)"), "{listed}");
}

#[test]
fn a_document_that_breaks_its_reader_is_refused() {
    let (_env, server) = serve_desk(&desk("Desk"), &[]);
    let put = |id: &str, document: Vec<u8>| {
        server.request("POST", &format!("{KNOWLEDGE}?id={id}"), &[("Content-Type", "application/pdf")], document)
    };
    // The reader notes a width for each of four thousand million characters, and calls itself for each bracket.
    let info = "/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 0>>/W[0 4294967295 500]";
    let descendant = format!("<</Type/Font/Subtype/CIDFontType2/BaseFont/Own{info}>>");
    let font = format!("<</Type/Font/Subtype/Type0/BaseFont/Own/Encoding/Identity-H/DescendantFonts[{descendant}]>>");
    let page = "BT /F1 12 Tf 72 720 Td <0001> Tj ET";
    let (endless, deep) = (pdf_of(&font, &[page]), pdf_of(&"[".repeat(2_000_000), &[page]));
    std::thread::scope(|scope| {
        let endless = scope.spawn(|| put("endless", endless));
        assert_refused(&put("deep", deep), 422, "unreadable_document");
        assert_eq!(put("fees", pdf("Fees")).status, 201);
        assert_refused(&endless.join().unwrap(), 422, "unreadable_document");
    });
    assert_eq!(found(&server, "fees"), ["fees#1"]);
}

#[test]
fn a_page_with_many_attributes_is_read_at_once() {
    let (_env, server) = serve_desk(&desk("Desk"), &[]);
    let attributes: String = (0..500_000).map(|it| format!(" a{it}")).collect();
    let page = format!("<p{attributes}>A card costs five euros.</p>").into_bytes();
    let answer = server.request("POST", &format!("{KNOWLEDGE}?id=fees"), &[("Content-Type", "text/html")], page);
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(found(&server, "card"), ["fees#1"]);
}

#[test]
fn invalid_requests_change_nothing() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let before = env.sql().dump();
    for (body, status, code) in [
        (json!([]), 400, "not_json"),
        (json!({"id": "a"}), 422, "invalid_source"),
        (json!({"text": "a"}), 422, "invalid_source"),
        (json!({"id": "a,b", "text": "a"}), 422, "invalid_source"),
        (json!({"id": "search", "text": "a"}), 422, "invalid_source"),
        (json!({"id": "a", "text": 5}), 422, "invalid_source"),
        (json!({"id": "a", "text": " "}), 422, "empty_text"),
        (json!({"id": "a", "text": "a", "title": 5}), 422, "invalid_source"),
        (json!({"id": "a", "text": "a", "url": "javascript:alert(1)"}), 422, "invalid_source"),
        (json!({"id": "a", "text": "a", "locale": "../x"}), 422, "invalid_source"),
        (json!({"id": "a", "text": "a", "format": "docx"}), 422, "invalid_source"),
        (json!({"id": "a", "text": "?", "format": "pdf"}), 422, "invalid_source"),
    ] {
        assert_refused(&send(&server, "POST", KNOWLEDGE, &body), status, code);
    }
    assert_refused(&server.request("POST", KNOWLEDGE, &[JSON], "{"), 400, "not_json");
    assert_refused(&send(&server, "POST", "/v1/agents/shop/knowledge", &json!({"id": "a", "text": "a"})), 404, "not_found");
    assert_refused(&server.get("/v1/agents/shop/knowledge"), 404, "not_found");
    assert_refused(&server.get("/v1/agents/shop/knowledge/search?q=a"), 404, "not_found");
    assert_refused(&server.get(&format!("{KNOWLEDGE}/none")), 404, "source_not_found");
    for query in ["", "?q=a&top_k=0", "?q=a&top_k=51", "?q=a&vector_weight=2"] {
        assert_refused(&server.get(&format!("{KNOWLEDGE}/search{query}")), 400, "invalid_search");
    }
    assert!(env.sql().dump() == before, "nothing has changed");
}

#[test]
fn a_large_source_is_indexed_behind_the_request() {
    let (env, mut server) = serve_desk(&desk("Desk"), &[]);
    assert_eq!(put(&server, "fees", "Old fees.").0, 201);
    let (status, stored) = put(&server, "fees", &"New fees apply from January. ".repeat(20_000));
    assert_eq!((status, &stored["status"]), (202, &json!("indexing")));
    // The process dies while it indexes; the next one goes on when the lease has expired.
    server.kill();
    server = env.serve(&REGEX_ONLY);
    let state = || server.get(&format!("{KNOWLEDGE}/fees")).json();
    assert!(wait_until(|| { !found(&server, "fees").is_empty() && state()["status"] == "ready" }), "{}", state());
    assert!(state()["chunks"].as_u64().is_some_and(|it| it > 200), "{}", state());
    assert_eq!(found(&server, "old"), [""; 0]);
    let metric = |name: &str| read_metrics(&server).get(name).copied();
    let is_counted =
        || metric("convengine_indexed_sources_total{outcome=\"ok\"}") == Some(1.0) && metric("convengine_indexing_waiting") == Some(0.0);
    assert!(wait_until(is_counted), "{:?}", read_metrics(&server));
}

/// The desk with a node that answers from its knowledge base without a model.
pub fn knowing_desk() -> Value {
    let mut document = desk("Desk");
    let node = |id: &str, kind: &str, data: Value| json!({"id": id, "type": kind, "name": id, "data": data});
    let nodes = [
        node("asked", "intent", json!({"intent_id": "count"})),
        node("look", "knowledge", json!({"query": {"from": ["last_user"]}, "synthesize": false, "reply": true, "top_k": 1})),
        node("end", "end", json!({})),
    ];
    document["graphs"][1]["nodes"] = json!(nodes);
    document["graphs"][1]["edges"] = edges(&["asked", "look", "end"]);
    document
}

#[test]
fn packs_carry_sources_and_the_command_line_manages_them() {
    let env = TestEnv::with_pack(&orders_pack());
    let mut pack = orders_pack();
    pack["documents"] = json!([knowing_desk()]);
    pack["knowledge"] = json!([
        {"id": "fees", "title": "Fees", "text": "# Cards\n\nOnce more please: a card costs five euros.", "format": "markdown"},
        {"id": "de", "title": "Gebühren", "text": "Karten kosten nichts.", "locale": "de"},
    ]);
    let file = env.write_pack("knowing.json", &pack);
    let output = env.run(&["import", &file]);
    assert!(output.code == 0 && output.stdout.contains("and 2 knowledge sources"), "{output:?}");
    let exported: Value = serde_json::from_str(&env.run(&["export"]).stdout).unwrap();
    let row = |id: &str| exported["knowledge"].as_array().unwrap().iter().find(|source| source["id"] == id).cloned().unwrap();
    assert_eq!((&row("fees")["assistant"], &row("fees")["locale"], &row("de")["locale"]), (&json!("desk"), &json!("en-US"), &json!("de")));

    let text = env.write("hours.md", "# Hours\n\nThe branch opens at nine.");
    let output = env.run(&["knowledge", "add", &text, "--assistant", "desk", "--title", "Hours"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "hours: 1 chunk\n"), "{output:?}");
    let output = env.run(&["knowledge", "search", "When does the branch open?", "--assistant", "desk"]);
    assert!(output.code == 0 && output.stdout.contains("hours#1 Hours"), "{output:?}");
    assert_eq!(env.run(&["knowledge", "list", "--assistant", "desk"]).stdout.lines().count(), 3);
    assert_eq!(env.run(&["knowledge", "remove", "hours", "--assistant", "desk"]).code, 0);
    assert_one_line(&env.run(&["knowledge", "remove", "hours", "--assistant", "desk"]), 4, &["hours", "not found"]);
    assert_one_line(&env.run(&["knowledge", "list", "--assistant", "shop"]), 1, &["shop", "not found"]);
    assert_one_line(&env.run(&["knowledge", "add", &text, &text, "--id", "a", "--assistant", "desk"]), 2, &["--id"]);
    assert_one_line(&env.run(&["knowledge", "add", &env.write("a.docx", "x"), "--assistant", "desk"]), 1, &["unknown format"]);

    let server = env.serve(&REGEX_ONLY);
    let started = send(&server, "POST", "/v1/runtime/assistants/desk/sessions", &json!({}));
    let path = format!("/v1/runtime/assistants/desk/sessions/{}/turns", started.json()["session_id"].as_str().unwrap());
    let answer = send(&server, "POST", &path, &json!({"type": "user.message", "text": "more please"}));
    assert!(answer.text.contains("a card costs five euros"), "{answer:?}");
    let replay = server.get(&path.replace("/turns", "/replay")).json();
    assert_eq!(replay["equal"], true, "{replay}");
}

#[test]
fn publishing_reports_sources_that_do_not_exist() {
    let mut document = knowing_desk();
    document["graphs"][1]["nodes"][1]["data"]["sources"] = json!(["fees"]);
    let (_env, server) = serve_desk(&document, &[]);
    let codes = || {
        let body = send(&server, "POST", "/v1/agents/desk/flow/validate-publish", &json!({})).json();
        body["issues"].as_array().unwrap().iter().map(|issue| issue["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(codes().contains(&"K001".to_owned()), "{:?}", codes());
    assert_eq!(put(&server, "fees", "five euros").0, 201);
    assert!(!codes().contains(&"K001".to_owned()), "{:?}", codes());
}
