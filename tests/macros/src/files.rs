//! The macro `test_files!`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// What the macro is given.
#[derive(Debug, Default)]
struct Request {
    function: String,
    folders: Vec<String>,
    sqlite_only: Vec<String>,
    /// Every how many files one runs on PostgreSQL.
    postgres_every: usize,
}

/// Expands the macro.
pub fn expand(list: TokenStream) -> Result<TokenStream, String> {
    let request = Request::parse(list)?;
    // Cargo sets it to the folder of the package that uses the macro.
    let root = std::env::var("CARGO_MANIFEST_DIR").map_err(|it| it.to_string())?;
    let mut modules: BTreeMap<String, String> = BTreeMap::new();
    let mut unknown: Vec<&String> = request.sqlite_only.iter().collect();
    for (number, file) in request.files(Path::new(&root))?.iter().enumerate() {
        let name = stem(file);
        unknown.retain(|it| **it != name);
        let environments = match () {
            () if request.sqlite_only.contains(&name) => "sqlite",
            () if (number + 1).is_multiple_of(request.postgres_every) => "sqlite, postgres",
            () => "sqlite",
        };
        let folder = file.parent().map(stem).unwrap_or_default();
        modules.entry(identifier(&folder)).or_default().push_str(&format!(
            "#[::convengine_test_macros::test] #[on({environments})] fn {}() {{ super::{}({:?}); }}",
            identifier(&name),
            request.function,
            file.display().to_string(),
        ));
    }
    if let Some(name) = unknown.first() {
        return Err(format!("sqlite_only: file '{name}' does not exist"));
    }
    let modules: String = modules.iter().map(|(name, tests)| format!("mod {name} {{ {tests} }}")).collect();
    modules.parse().map_err(|it| format!("{it}"))
}

impl Request {
    /// Parses `function: ["folder", …], sqlite_only: ["name", …], postgres_every: 6`.
    fn parse(list: TokenStream) -> Result<Request, String> {
        let mut request = Request { postgres_every: 1, ..Request::default() };
        let tokens: Vec<TokenTree> = list.into_iter().collect();
        for member in tokens.split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',')).filter(|it| !it.is_empty()) {
            let [TokenTree::Ident(name), TokenTree::Punct(_), value] = member else {
                return Err("use `function: [\"packs/folder\", …], sqlite_only: [\"name\", …], postgres_every: 6`".to_owned());
            };
            match name.to_string().as_str() {
                "sqlite_only" => request.sqlite_only = texts(value),
                "postgres_every" => request.postgres_every = value.to_string().parse().map_err(|_| "postgres_every needs a number")?,
                function => {
                    function.clone_into(&mut request.function);
                    request.folders = texts(value);
                }
            }
        }
        Ok(request)
    }

    /// The files of the folders, sorted, as paths below `root`.
    fn files(&self, root: &Path) -> Result<Vec<PathBuf>, String> {
        let mut files = Vec::new();
        for folder in &self.folders {
            let (folder, ending) = folder.split_once("/*").unwrap_or((folder, ""));
            let entries = std::fs::read_dir(root.join(folder)).map_err(|it| format!("cannot read '{folder}': {it}"))?;
            let before = files.len();
            for entry in entries {
                let path = entry.map_err(|it| it.to_string())?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if path.is_file() && name.ends_with(ending) {
                    files.push(Path::new(folder).join(name));
                }
            }
            if files.len() == before {
                return Err(format!("'{folder}' has no files"));
            }
        }
        files.sort();
        Ok(files)
    }
}

/// The strings of a list.
fn texts(list: &TokenTree) -> Vec<String> {
    let TokenTree::Group(list) = list else { return Vec::new() };
    let literals = list.stream().into_iter().filter(|_| list.delimiter() == Delimiter::Bracket);
    literals.filter_map(|literal| Some(literal.to_string().strip_prefix('"')?.strip_suffix('"')?.to_owned())).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of a file as the name of a function or module.
fn identifier(name: &str) -> String {
    let letters: String = name.chars().map(|character| if character.is_alphanumeric() { character } else { '_' }).collect();
    if letters.starts_with(|it: char| it.is_ascii_digit()) { format!("_{letters}") } else { letters }
}
