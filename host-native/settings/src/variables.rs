//! Environment variables that look like a setting and are not read: an operator would believe that they have an effect.

/// The prefix of our variables. Others may have it too, such as those of a Kubernetes service with our name.
const PREFIX: &str = "CONVENGINE_";

/// The variables that are read.
const READ: [&str; 6] = ["DATABASE", "LISTEN", "LLM", "SET", "SETTINGS", "TENANT"];

/// How a variable for the name of a table of ConvEngine begins.
const TABLES: &str = "TABLES_";

/// How a variable for a setting of a tenant begins.
const TENANTS: &str = "TENANTS_";

/// Returns one line per variable that is named like a setting, or nearly like one of ours. Variables that `references` names are data, such
/// as that of a key.
pub(super) fn find_mistyped(variables: &[String], settings: &[String], references: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for name in variables {
        let upper = name.to_uppercase().replace('.', "_");
        let Some(rest) = upper.strip_prefix(PREFIX).filter(|_| !references.contains(name.as_str())) else { continue };
        if READ.contains(&rest) && upper == *name {
            continue;
        }
        if rest.starts_with(TABLES) {
            lines.push(format!("{name}: tables cannot have other names, and settings have no variables of their own; remove the variable"));
        } else if let Some(setting) = settings.iter().find(|it| is_similar(rest, it)) {
            lines.push(format!("{name}: settings have no variables of their own; set CONVENGINE_SET=convengine.{setting}=VALUE"));
        } else if rest.starts_with(TENANTS) || settings.iter().any(|it| is_group(rest, it)) {
            lines.push(format!("{name}: settings have no variables of their own; set CONVENGINE_SET=convengine.KEY=VALUE"));
        } else if let Some(known) = READ.iter().find(|it| is_similar(rest, it)) {
            lines.push(format!("{name}: unknown variable; did you mean {PREFIX}{known}?"));
        }
    }
    lines
}

/// Whether a variable has the name of a group that a setting is in.
fn is_group(variable: &str, setting: &str) -> bool {
    setting.match_indices('.').any(|(at, _)| setting[..at].replace(['.', '-'], "_").eq_ignore_ascii_case(variable))
}

/// Whether two names are equal but for their separators and a mistake: two in longer names.
fn is_similar(one: &str, other: &str) -> bool {
    let letters =
        |name: &str| name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect::<String>();
    let (one, other) = (letters(one), letters(other));
    strsim::osa_distance(&one, &other) <= usize::from(other.len() >= 3) + usize::from(other.len() > 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_that_look_like_settings_are_refused() {
        let settings = ["security.mode", "admin-token", "llm.spend-cap.amount"].map(str::to_owned);
        let find = |name: &str| find_mistyped(&[name.to_owned()], &settings, "convengine.secrets-key=env:CONVENGINE_SECRETS_KEY").pop();
        for (name, advice) in [
            ("CONVENGINE_SECURITY_MODE", "convengine.security.mode=VALUE"),
            ("CONVENGINE_SECURTY_MODE", "convengine.security.mode=VALUE"),
            ("CONVENGINE_ADMIN_TOKEN", "convengine.admin-token=VALUE"),
            ("CONVENGINE_LLM_SPENDCAP_AMOUNT", "convengine.llm.spend-cap.amount=VALUE"),
            ("CONVENGINE_TABLES_INTENT", "tables cannot have other names"),
            ("convengine_security_mode", "convengine.security.mode=VALUE"),
            ("convengine.security.mode", "convengine.security.mode=VALUE"),
            ("CONVENGINE_SECURITY", "CONVENGINE_SET=convengine.KEY=VALUE"),
            ("CONVENGINE_TENANTS_A_DATABASE", "CONVENGINE_SET=convengine.KEY=VALUE"),
            ("CONVENGINE_SETS", "did you mean CONVENGINE_SET?"),
            ("CONVENGINE_LISTN", "did you mean CONVENGINE_LISTEN?"),
            ("CONVENGINE_DATABSE", "did you mean CONVENGINE_DATABASE?"),
        ] {
            assert!(find(name).is_some_and(|it| it.contains(advice)), "{name}: {:?}", find(name));
        }
        for name in
            ["CONVENGINE_SET", "CONVENGINE_PORT", "CONVENGINE_SERVICE_HOST", "CONVENGINE_SECRETS_KEY", "CONVENGINE_BIN", "PATH", "MODE"]
        {
            assert_eq!(find(name), None, "{name}");
        }
    }
}
