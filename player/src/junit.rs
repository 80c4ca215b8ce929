//! JUnit XML reports for build servers.

use super::PackReport;

/// Renders the report of a run.
pub(super) fn render(reports: &[PackReport]) -> String {
    let failed = reports.iter().filter(|it| !it.has_passed()).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"convengine\" tests=\"{}\" failures=\"{failed}\">\n",
        reports.len()
    );
    for report in reports {
        out.push_str(&format!("  <testcase name=\"{}\">", escape(&report.name)));
        if !report.has_passed() {
            let differences = report
                .turns
                .iter()
                .flat_map(|turn| turn.unexplained.iter().map(move |difference| format!("turn {} {difference}", turn.turn)));
            let lines: Vec<String> = report.failure.iter().cloned().chain(differences).collect();
            out.push_str(&format!("<failure>{}</failure>", escape(&lines.join("\n"))));
        }
        out.push_str("</testcase>\n");
    }
    out.push_str("</testsuite>\n");
    out
}

fn escape(text: &str) -> String {
    let allowed = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text: String = text.chars().filter(allowed).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
