//! The classifier of intents on sets with known answers, and in the browser's engine.

use std::process::Command;

use convengine_core::pack::Pack;
use convengine_test_macros::test;
use convengine_tests::nlu::{DataSet, Measurement, Numbers, generate, words};
use convengine_tests::{root, server_binary};
use serde_json::{Value, json};

use crate::running::is_long_run;

/// The sets, each with the numbers of phrases that are measured.
const CURVES: [(&str, &[usize]); 2] = [("shop_en", &[5, 10, 20, 50]), ("bank_de", &[5, 10, 20])];

#[test]
#[on(no_database)]
fn the_specification_has_the_measured_results() {
    let mut lines: Vec<String> = Measurement::HEAD.map(str::to_owned).to_vec();
    for (name, curve) in CURVES {
        let set = DataSet::read(name).unwrap();
        assert!(set.intents.len() >= 25 && set.intents.iter().all(|intent| intent.phrases.len() >= 20), "{name}");
        let measured: Vec<Measurement> = curve.iter().map(|it| set.measure(*it)).collect();
        lines.extend(measured.iter().map(Measurement::line));
        let best = &measured.last().unwrap().classified;
        assert!(best.in_scope >= 300 && best.accuracy >= 0.92 && best.refused + best.out_of_scope_close >= 0.45, "{best:?}");
        assert!(best.accuracy - best.accepted - best.close <= 0.03, "the threshold refuses too much: {best:?}");
    }
    let specification = std::fs::read_to_string(root().join("docs/spec/classifier.md")).unwrap();
    let table = lines.join("\n");
    assert!(specification.contains(&table), "docs/spec/classifier.md is out of date; write there:\n{table}");
}

#[test]
#[on(no_database)]
fn the_command_reports_on_a_document_with_labelled_texts() {
    let set = DataSet::read("bank_de").unwrap();
    let folder = std::env::temp_dir().join(format!("convengine-nlu-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (flow, data) = (folder.join("bank.json"), folder.join("texts.jsonl"));
    std::fs::write(&flow, set.document(20).to_string()).unwrap();
    let line = |example: &convengine_tests::nlu::DataText| json!({"text": example.text, "intent": example.intent}).to_string();
    std::fs::write(&data, set.tests.iter().map(line).collect::<Vec<_>>().join("\n")).unwrap();
    let run = |more: &[&str]| {
        let mut command = Command::new(server_binary().unwrap());
        let output = command.arg("nlu").arg(&flow).arg("--data").arg(&data).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let report: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let measured = set.measure(20).classified;
    assert_eq!(report[0]["data"], json!(measured));
    assert_eq!((&report[0]["name"], &report[0]["intents"]), (&json!("bank_de"), &json!(26)));
    let printed = run(&[]);
    assert!(printed.contains("bank_de: 26 intents, 520 phrases") && printed.contains("messages without one: 122"), "{printed}");
    std::fs::write(&data, "no tab").unwrap();
    let mut command = Command::new(server_binary().unwrap());
    let output = command.arg("nlu").arg(&flow).arg("--data").arg(&data).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 1: expected"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// The locales of the generated documents, with words of their scripts.
const LOCALES: [(&str, &str); 12] = [
    ("en", ""),
    ("de-AT", "Überweisung Gebühr schließen Straße"),
    ("fr", "où l’été reçu garçon"),
    ("es", "¿dónde está mañana"),
    ("ru", "где мой заказ верните деньги"),
    ("el", "πού είναι η παραγγελία"),
    ("ar", "أين طلبي أريد استرداد"),
    ("hi", "मेरा ऑर्डर कहाँ है"),
    ("ta", "என் ஆர்டர் எங்கே"),
    ("zh-CN", "我的订单在哪里 退款"),
    ("ja", "注文はどこですか 返金"),
    ("th", "คำสั่งซื้อของฉันอยู่ที่ไหน"),
];

#[test]
#[on(no_database)]
#[ignore = "needs the built page; `cargo xtask test` builds it"]
fn the_browser_engine_learns_the_same_from_generated_documents() {
    let documents = if is_long_run() { 1_000 } else { 120 };
    let words = words().unwrap();
    let folder = std::env::temp_dir().join(format!("convengine-nlu-browser-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut numbers = Numbers::new(7);
    let (mut packs, mut expected) = (Vec::new(), Vec::new());
    for seed in 0..documents {
        let (locale, scripts) = LOCALES[numbers.below(LOCALES.len())];
        let vocabulary: Vec<String> =
            words.iter().step_by(7).cloned().chain(scripts.split(' ').cycle().take(60).map(str::to_owned)).collect();
        let mut set = generate(&vocabulary, 2 + numbers.below(4), 1 + numbers.below(7), seed);
        locale.clone_into(&mut set.locale);
        let pack = json!({"name": "generated", "documents": [set.document(usize::MAX)]}).to_string();
        expected.push(serde_json::to_string(&json!(Pack::parse(&pack).unwrap().classifier_reports())).unwrap());
        packs.push(pack);
    }
    let file = folder.join("packs.jsonl");
    std::fs::write(&file, packs.join("\n")).unwrap();
    let mut command = Command::new("node");
    let output = command.arg(root().join("tests/nlu/reports.mjs")).arg(root().join("web-demo/src/wasm-lint")).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let reports: Vec<&str> = std::str::from_utf8(&output.stdout).unwrap().lines().collect();
    assert_eq!(reports.len(), expected.len());
    for (at, (report, expected)) in reports.iter().zip(&expected).enumerate() {
        assert_eq!(report, expected, "document {at}: {}", packs[at]);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
