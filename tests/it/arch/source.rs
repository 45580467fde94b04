//! Just enough of Rust to see which paths a file names: comments and literals are dropped, `use` trees are spread out,
//! `super` is resolved, and code under `#[cfg(test)]` is marked. Macros are read as plain tokens.

use std::path::Path;

/// What one file names.
pub(super) struct Source {
    /// Its top module: `suite` for `suite/metric.rs`.
    pub(super) module: String,
    /// The modules it is: `suite`, `metric`.
    pub(super) home: Vec<String>,
    /// Modules in files of their own that it declares under `#[cfg(test)]`.
    pub(super) test_modules: Vec<Vec<String>>,
    /// Every path of two segments or more, spread out and absolute where it began with `super` or `self`.
    pub(super) paths: Vec<Named>,
    /// Every macro called.
    pub(super) macros: Vec<Call>,
    /// Lines with the keyword `unsafe`.
    pub(super) unsafe_lines: Vec<usize>,
}

/// A path.
pub(super) struct Named {
    pub(super) line: usize,
    pub(super) segments: Vec<String>,
    pub(super) in_test: bool,
}

/// A macro call.
pub(super) struct Call {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) in_test: bool,
}

/// An identifier, `::`, or one other character.
#[derive(Debug, Clone, PartialEq)]
struct Token {
    line: usize,
    text: String,
}

impl Token {
    fn is_name(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

impl Source {
    /// Reads `text`, the file at `file` below `src/`.
    pub(super) fn read(file: &Path, text: &str) -> Self {
        let home = modules_of(file);
        let tokens = tokens(text);
        let mut source = Self {
            module: home[0].clone(),
            home: home.clone(),
            test_modules: Vec::new(),
            paths: Vec::new(),
            macros: Vec::new(),
            unsafe_lines: Vec::new(),
        };
        let mut blocks = Blocks {
            home,
            open: Vec::new(),
        };
        let mut i = 0;
        while i < tokens.len() {
            let token = &tokens[i];
            match token.text.as_str() {
                "{" => blocks.enter(&tokens[..i]),
                "}" => blocks.leave(),
                ";" => source.test_modules.extend(blocks.test_module(&tokens[..i])),
                "unsafe" => source.unsafe_lines.push(token.line),
                _ => {}
            }
            let starts = token.is_name() && !(i > 0 && tokens[i - 1].text == "::");
            if starts && tokens.get(i + 1).is_some_and(|t| t.text == "::") {
                i = source.path(&tokens, i, &[], &blocks);
            } else {
                source.call(&tokens, i, &blocks);
                i += 1;
            }
        }
        source
    }

    /// Reads one path or `use` tree from `i`; returns where it ended.
    fn path(
        &mut self,
        tokens: &[Token],
        mut i: usize,
        prefix: &[String],
        blocks: &Blocks,
    ) -> usize {
        let mut segments = prefix.to_vec();
        let line = tokens[i].line;
        while tokens.get(i).is_some_and(Token::is_name) {
            segments.push(tokens[i].text.clone());
            if tokens.get(i + 1).is_none_or(|t| t.text != "::") {
                self.call(tokens, i, blocks);
                i += 1;
                break;
            }
            i += 2;
        }
        if tokens.get(i).is_some_and(|t| t.text == "{") && tokens[i - 1].text == "::" {
            i += 1;
            while let Some(token) = tokens.get(i).filter(|t| t.text != "}") {
                i = if token.is_name() {
                    self.path(tokens, i, &segments, blocks)
                } else {
                    i + 1
                };
            }
            return i + 1;
        }
        if let Some(segments) = blocks.absolute(&segments) {
            self.paths.push(Named {
                line,
                segments,
                in_test: blocks.in_test(),
            });
        }
        i
    }

    fn call(&mut self, tokens: &[Token], i: usize, blocks: &Blocks) {
        let next = |k: usize| tokens.get(i + k).map(|t| t.text.as_str());
        if tokens[i].is_name() && next(1) == Some("!") && matches!(next(2), Some("(" | "[" | "{")) {
            let Token { line, text: name } = tokens[i].clone();
            self.macros.push(Call {
                line,
                name,
                in_test: blocks.in_test(),
            });
        }
    }
}

/// The modules a file is: `suite/metric.rs` is `suite`, `metric`.
fn modules_of(file: &Path) -> Vec<String> {
    let mut names: Vec<String> = file
        .with_extension("")
        .components()
        .map(|c| c.as_os_str().to_string_lossy().into_owned())
        .collect();
    if names.len() > 1 && names.last().is_some_and(|n| n == "mod") {
        names.pop();
    }
    names
}

/// The open braces around a token: which are modules, which are tests.
struct Blocks {
    home: Vec<String>,
    open: Vec<(Option<String>, bool)>,
}

impl Blocks {
    /// A brace opens after `before`: a module if `mod NAME` stands there, a test if `#[cfg(test)]` stands before that.
    fn enter(&mut self, before: &[Token]) {
        self.open.push(item(before));
    }

    /// A `;` stands after `before`: the module it declares, if that is a test's.
    fn test_module(&self, before: &[Token]) -> Option<Vec<String>> {
        let (module, test) = item(before);
        let inline = self.open.iter().filter_map(|(module, _)| module.clone());
        let path = self.home.iter().cloned().chain(inline);
        module
            .filter(|_| test)
            .map(|name| path.chain([name]).collect())
    }

    fn leave(&mut self) {
        self.open.pop();
    }

    fn in_test(&self) -> bool {
        self.open.iter().any(|(_, test)| *test)
    }

    /// `super::…` from the crate's root; a single name says nothing and is dropped.
    fn absolute(&self, segments: &[String]) -> Option<Vec<String>> {
        let supers = segments.iter().take_while(|s| *s == "super").count();
        if supers == 0 {
            return (segments.len() > 1).then(|| segments.to_vec());
        }
        let inline = self.open.iter().filter_map(|(module, _)| module.clone());
        let mut here: Vec<String> = self.home.iter().cloned().chain(inline).collect();
        here.truncate(here.len().saturating_sub(supers));
        let rest = segments[supers..].iter().cloned();
        Some(
            std::iter::once("crate".to_owned())
                .chain(here)
                .chain(rest)
                .collect(),
        )
    }
}

/// The item that ends `tokens`: the module it opens, and whether `#[cfg(test)]` or a kin of it stands before.
fn item(tokens: &[Token]) -> (Option<String>, bool) {
    let ends = |t: &Token| matches!(t.text.as_str(), ";" | "{" | "}");
    let start = tokens.iter().rposition(ends).map_or(0, |k| k + 1);
    let words: Vec<&str> = tokens[start..].iter().map(|t| t.text.as_str()).collect();
    let module = match words[..] {
        [.., "mod", name] => Some(name.to_owned()),
        _ => None,
    };
    let has = |word| words.contains(&word);
    (module, has("cfg") && has("test") && !has("not"))
}

/// The code of a file as tokens, without comments and literals.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let (mut found, mut i, mut line) = (Vec::new(), 0, 1);
    while i < chars.len() {
        let end = skip_literal(&chars, i);
        if end > i {
            line += chars[i..end].iter().filter(|c| **c == '\n').count();
            i = end;
            continue;
        }
        let c = chars[i];
        let word = chars[i..]
            .iter()
            .take_while(|c| c.is_alphanumeric() || **c == '_')
            .count();
        let length = if word > 0 {
            word
        } else {
            1 + usize::from(c == ':' && chars.get(i + 1) == Some(&':'))
        };
        if !c.is_whitespace() {
            found.push(Token {
                line,
                text: chars[i..i + length].iter().collect(),
            });
        }
        line += usize::from(c == '\n');
        i += length;
    }
    found
}

/// The end of the comment or literal that starts at `i`, or `i`.
fn skip_literal(chars: &[char], i: usize) -> usize {
    let at = |k: usize| chars.get(k).copied().unwrap_or('\0');
    let after_word = i > 0 && (chars[i - 1].is_alphanumeric() || chars[i - 1] == '_');
    match (at(i), at(i + 1)) {
        ('/', '/') => (i..chars.len())
            .find(|&k| at(k) == '\n')
            .unwrap_or(chars.len()),
        ('/', '*') => skip_block_comment(chars, i),
        ('r', '"' | '#') if !after_word => skip_raw_string(chars, i),
        ('b', 'r') if !after_word && matches!(at(i + 2), '"' | '#') => {
            skip_raw_string(chars, i + 1)
        }
        ('"', _) => skip_quoted(chars, i, '"'),
        ('\'', '\\') => skip_quoted(chars, i, '\''),
        // A lifetime has no closing quote two characters on.
        ('\'', _) if at(i + 2) == '\'' => i + 3,
        _ => i,
    }
}

fn skip_block_comment(chars: &[char], start: usize) -> usize {
    let (mut i, mut depth) = (start, 0_usize);
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    i
}

/// `r"…"`, `r#"…"#`; a raw identifier such as `r#type` is no literal.
fn skip_raw_string(chars: &[char], start: usize) -> usize {
    let hashes = chars[start + 1..].iter().take_while(|c| **c == '#').count();
    let open = start + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return start;
    }
    let closes = |k: usize| {
        chars[k] == '"' && chars[k + 1..].iter().take_while(|c| **c == '#').count() >= hashes
    };
    (open + 1..chars.len())
        .find(|&k| closes(k))
        .map_or(chars.len(), |k| k + 1 + hashes)
}

fn skip_quoted(chars: &[char], start: usize, quote: char) -> usize {
    let mut i = start + 1;
    while i < chars.len() && chars[i] != quote {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    (i + 1).min(chars.len())
}
