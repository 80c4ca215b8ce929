//! The tests of the suite: the attribute `test`, with which a test runs once for each environment that it is for, and `test_files!`, which
//! makes one of each file of a folder.
//!
//! A module of the suite imports it, which shadows the built-in attribute:
//!
//! ```text
//! use convengine_test_macros::test;
//!
//! #[test]
//! fn a_draft_is_stored_as_written() { … } // a_draft_is_stored_as_written::sqlite and …::postgres
//!
//! #[test]
//! #[on(postgres)]
//! fn two_servers_share_its_sessions() { … } // two_servers_share_its_sessions::postgres
//! ```
//!
//! The function stays as it is. Beside it comes a module of its name with one built-in test for each environment, which calls it:
//!
//! ```text
//! mod a_draft_is_stored_as_written {
//!     #[::core::prelude::v1::test]
//!     fn sqlite() {
//!         crate::running::run(crate::running::Environment::Sqlite, ::core::module_path!(), super::a_draft_is_stored_as_written);
//!     }
//!     …
//! }
//! ```

mod files;

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// An environment: the name in `#[on(…)]` and of the generated test, and the variant of `crate::running::Environment`.
type Environment = (&'static str, &'static str);

const ENVIRONMENTS: [Environment; 5] =
    [("sqlite", "Sqlite"), ("postgres", "Postgres"), ("pgvector", "Pgvector"), ("browser", "Browser"), ("no_database", "NoDatabase")];

/// The environments of a test that names none.
const BOTH_DATABASES: [Environment; 2] = [ENVIRONMENTS[0], ENVIRONMENTS[1]];

/// What `cargo xtask ready` and a plain `cargo test` lack.
const NO_BROWSER: &str = "#[ignore = \"needs Chromium and the built page; `cargo xtask test` runs it\"]";

/// Runs the function as a test on SQLite and again on PostgreSQL, or in the environments that `#[on(…)]` names below it.
///
/// | environment | the test |
/// |---|---|
/// | `sqlite`, `postgres` | has environments (`TestEnv`) on this database |
/// | `pgvector` | has them on a PostgreSQL that has the extension `vector` |
/// | `browser` | opens the page in Chromium, served from SQLite; ignored unless `--include-ignored` is passed |
/// | `no_database` | has no environment |
///
/// `#[ignore]`, `#[should_panic]` and `#[cfg]` apply to each generated test.
#[proc_macro_attribute]
pub fn test(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(item).unwrap_or_else(|problem| fail(&problem))
}

/// Makes a test of each file of some folders below `tests`. Its name is that of the file, in a module with the name of the folder.
///
/// ```text
/// test_files! {
///     play: ["packs/demo", "packs/flow/*.talk"], // calls `play("packs/demo/help_desk.json")`
///     sqlite_only: ["inventory_lookup"],         // these files run on SQLite alone
///     postgres_every: 6,                         // every sixth of the others runs on PostgreSQL, too; by default each
/// }
/// ```
#[proc_macro]
pub fn test_files(list: TokenStream) -> TokenStream {
    files::expand(list).unwrap_or_else(|problem| fail(&problem))
}

fn fail(problem: &str) -> TokenStream {
    format!("::core::compile_error!({problem:?});").parse().unwrap_or_default()
}

fn expand(item: TokenStream) -> Result<TokenStream, String> {
    let mut tokens = item.into_iter().peekable();
    let mut environments = Vec::new();
    let (mut of_function, mut of_tests, mut is_ignored) = (TokenStream::new(), String::new(), false);
    while let Some(mark) = tokens.next_if(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == '#')) {
        let Some(TokenTree::Group(attribute)) = tokens.next() else { return Err("expected an attribute after '#'".to_owned()) };
        let name = attribute.stream().into_iter().next().map(|it| it.to_string()).unwrap_or_default();
        match name.as_str() {
            "on" => environments.extend(read_environments(attribute.stream())?),
            "ignore" | "should_panic" => {
                of_tests.push_str(&format!("#{attribute}"));
                is_ignored |= name == "ignore";
            }
            _ => {
                if name == "cfg" {
                    of_tests.push_str(&format!("#{attribute}"));
                }
                of_function.extend([mark, TokenTree::Group(attribute)]);
            }
        }
    }
    if environments.is_empty() {
        environments.extend(BOTH_DATABASES);
    }
    let function: Vec<TokenTree> = tokens.collect();
    let [TokenTree::Ident(keyword), TokenTree::Ident(name), TokenTree::Group(parameters), TokenTree::Group(body)] = function.as_slice()
    else {
        return Err("a test is a function without parameters and result: fn name() { … }".to_owned());
    };
    if keyword.to_string() != "fn" || !parameters.stream().is_empty() || body.delimiter() != Delimiter::Brace {
        return Err("a test is a function without parameters and result: fn name() { … }".to_owned());
    }
    let tests: String =
        environments.iter().map(|environment| render_test(*environment, &name.to_string(), &of_tests, is_ignored)).collect();
    let module = format!("mod {name} {{ {tests} }}");
    of_function.extend(function.iter().cloned());
    of_function.extend(module.parse::<TokenStream>().map_err(|it| it.to_string())?);
    Ok(of_function)
}

/// Reads `on(sqlite, postgres)`.
fn read_environments(attribute: TokenStream) -> Result<Vec<Environment>, String> {
    let known = || ENVIRONMENTS.map(|environment| environment.0).join(", ");
    let Some(TokenTree::Group(list)) = attribute.into_iter().nth(1) else { return Err(format!("use #[on(…)] with one of {}", known())) };
    let names = list.stream().into_iter().filter(|token| matches!(token, TokenTree::Ident(_))).map(|it| it.to_string());
    let find = |name: String| {
        let found = ENVIRONMENTS.into_iter().find(|environment| environment.0 == name);
        found.ok_or_else(|| format!("#[on({name})]: unknown environment; use one of {}", known()))
    };
    let found = names.map(find).collect::<Result<Vec<_>, _>>()?;
    if found.is_empty() { Err(format!("use #[on(…)] with one of {}", known())) } else { Ok(found) }
}

fn render_test((environment, variant): Environment, name: &str, attributes: &str, is_ignored: bool) -> String {
    let ignored = if environment == "browser" && !is_ignored { NO_BROWSER } else { "" };
    format!(
        "#[::core::prelude::v1::test] {ignored} {attributes} fn {environment}() {{ \
         crate::running::run(crate::running::Environment::{variant}, ::core::module_path!(), super::{name}); }}"
    )
}
