//! Imports the extension modules of a pack after validating them.

use convengine_core::pack::Pack;

use convengine_effects::extension;
use convengine_storage::{Connection, module};

/// Stores the modules of a pack whose rows are stored already; returns a line for each unusable extension.
///
/// # Errors
/// The failure of the database.
pub async fn store(connection: &mut Connection, pack: &Pack) -> sqlx::Result<Vec<String>> {
    if !module::has_tables(connection).await? {
        return Ok(Vec::new());
    }
    let mut problems = Vec::new();
    for row in pack.tables.0.get("cv_extension").into_iter().flatten() {
        let text = |column: &str| row.get(column).and_then(|it| it.as_str()).unwrap_or_default();
        let Some(bytes) = pack.modules.get(text("module")) else { continue };
        match extension::find_problem(bytes) {
            Some(reason) => problems.push(format!("extensions.{}: the module {reason}", text("name"))),
            None => module::insert_if_absent(connection, text("module"), bytes).await?,
        }
    }
    if problems.is_empty() {
        let missing = module::list_missing(connection).await?;
        problems.extend(missing.iter().map(|it| format!("cv_extension.{it}: missing module; import the extension with its 'wasm'")));
    }
    module::delete_unused(connection).await?;
    Ok(problems)
}
