//! The fenced blocks of a Markdown page.

/// A fenced block.
#[derive(Debug, Clone)]
pub struct Block {
    /// The line of its fence, from 1.
    pub line: usize,
    /// The words after the fence.
    pub info: Vec<String>,
    /// The lines between the fences.
    pub lines: Vec<String>,
}

/// One example: a source and what it must give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Its line, from 1.
    pub line: usize,
    /// The source.
    pub source: String,
    /// The result as written on the page.
    pub result: String,
}

/// Returns the fenced blocks of a page.
pub fn parse_blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in (1..).zip(page.lines()) {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(info), None) => {
                open = Some(Block { line: number, info: info.split_whitespace().map(str::to_owned).collect(), lines: Vec::new() });
            }
            (None, Some(mut block)) => {
                block.lines.push(line.to_owned());
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

impl Block {
    /// Returns a word after the fence; an empty text if there are fewer.
    pub fn word(&self, index: usize) -> &str {
        self.info.get(index).map_or("", String::as_str)
    }

    /// Returns the text between the fences.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Returns the examples: `source -> result` in each line, or the whole block with a line `---` between source and result.
    pub fn examples(&self) -> Vec<Example> {
        if let Some(at) = self.lines.iter().position(|it| it == "---") {
            let (source, result) = self.lines.split_at(at);
            return vec![Example { line: self.line, source: source.join("\n"), result: result.get(1..).unwrap_or_default().join("\n") }];
        }
        let numbered = (self.line + 1..).zip(&self.lines).filter(|numbered| !numbered.1.trim().is_empty());
        let example = |(line, text): (usize, &String)| {
            let (source, result) = text.rsplit_once(" -> ").unwrap_or((text, ""));
            Example { line, source: source.trim().to_owned(), result: result.trim().to_owned() }
        };
        numbered.map(example).collect()
    }
}
