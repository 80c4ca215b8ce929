//! Throw-away: fills `?` results of the reference.
#[path = "../../tests/tests/suite/reference/blocks.rs"]
mod blocks;
#[path = "../../tests/tests/suite/reference/examples.rs"]
mod examples;
use std::path::PathBuf;
fn main() {
    for path in std::env::args().skip(1) {
        let page = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
        let mut context = examples::Context::default();
        let all = blocks::parse_blocks(&page);
        for b in &all {
            if b.word(0) == "json" && b.word(1) == "entity" {
                context.entities.push(serde_json::from_str(&b.text()).unwrap_or_else(|e| panic!("{path}:{}: {e}", b.line)));
            }
        }
        let mut count = 0;
        for b in all.iter().rev() {
            let _ = b;
        }
        let mut edits: Vec<(usize, usize, String)> = Vec::new();
        for b in &all {
            if b.word(0) == "json" && b.word(1) == "context" {
                context.document = serde_json::from_str(&b.text()).unwrap_or_else(|e| panic!("{path}:{}: {e}", b.line));
            }
            for e in b.examples() {
                let Some(r) = examples::run(b, &context, &e.source) else { continue };
                count += 1;
                if e.result == r {
                    continue;
                }
                if e.result == "?" {
                    if let Some(at) = b.lines.iter().position(|it| it == "---") {
                        edits.push((b.line + at + 1, b.line + b.lines.len(), r));
                    } else {
                        let l = &lines[e.line - 1];
                        let (s, _) = l.rsplit_once(" -> ").unwrap();
                        edits.push((e.line - 1, e.line, format!("{s} -> {r}")));
                    }
                } else {
                    println!("{path}:{} {}\n   page   {}\n   actual {r}", e.line, e.source, e.result);
                }
            }
        }
        for (from, to, text) in edits.into_iter().rev() {
            lines.splice(from..to, text.lines().map(str::to_owned).collect::<Vec<_>>());
        }
        std::fs::write(PathBuf::from(&path), lines.join("\n") + "\n").unwrap();
        println!("{path}: {count} examples");
    }
}
