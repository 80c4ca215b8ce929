//! `states.md`: the states that move by tables of transitions, drawn from the tables that the code moves by.

use anyhow::Result;
use convengine_core::list_transitions;
use convengine_core::turn::StateTransition;

use super::errors::to_snake_case;
use super::markdown::{code, fence, table, wrap};
use super::{Meanings, Page, prose};

/// Generates the page.
///
/// # Errors
/// If the meanings cannot be read.
pub fn page() -> Result<Page> {
    let meanings = Meanings::parse("states.txt", include_str!("data/states.txt"))?;
    let mut body = prose(include_str!("data/states_intro.txt"));
    let transitions = list_transitions();
    for rows in transitions.chunk_by(|a, b| a.machine == b.machine) {
        if let Some(first) = rows.first() {
            body.push_str(&section(first.machine, rows, &meanings));
        }
    }
    let gaps = meanings.gaps();
    let summary = "the states of pending actions, approvals, handoffs, steps of chains and circuit breakers, and what moves them";
    Ok(Page { file: "states.md", title: "States", summary, body, gaps })
}

fn section(machine: &str, rows: &[StateTransition], meanings: &Meanings) -> String {
    let spell = |name: &str| {
        let name = to_snake_case(name);
        // The statuses of pending actions are stored in upper case.
        if machine == "pending_action" { name.to_uppercase() } else { name }
    };
    let states = distinct(rows.iter().flat_map(|row| [spell(&row.state), spell(&row.next)]));
    let events = distinct(rows.iter().map(|it| to_snake_case(&it.event)));
    let explain =
        |names: &[String]| -> Vec<Vec<String>> { names.iter().map(|name| vec![code(name), meanings.get(machine, name)]).collect() };
    let moves: Vec<Vec<String>> =
        rows.iter().map(|row| [spell(&row.state), to_snake_case(&row.event), spell(&row.next)].map(|name| code(&name)).to_vec()).collect();
    let mut diagram = format!("stateDiagram-v2\n    [*] --> {}", states.first().map_or("", |it| it));
    for row in rows {
        diagram.push_str(&format!("\n    {} --> {}: {}", spell(&row.state), spell(&row.next), to_snake_case(&row.event)));
    }
    for end in states.iter().filter(|state| rows.iter().all(|row| spell(&row.state) != **state)) {
        diagram.push_str(&format!("\n    {end} --> [*]"));
    }
    format!(
        "\n\n## {}\n\n{}\n\n{}\n{}\n{}\n{}",
        meanings.get(machine, "title"),
        wrap(&meanings.section(machine)),
        fence("mermaid", &diagram),
        table(&["State", "Meaning"], &explain(&states)),
        table(&["Event", "When"], &explain(&events)),
        table(&["State", "Event", "Next"], &moves).trim_end(),
    )
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
