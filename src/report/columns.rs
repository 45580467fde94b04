//! Text in columns: every row's cells as wide as the widest of their column, between them two spaces.

use std::io::{self, Write};

use super::style::{Style, Tone};

/// One cell: text without escapes, drawn in a tone.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    tone: Option<Tone>,
    right: bool,
}

impl Cell {
    /// Words, on the left.
    pub(super) fn left(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: None,
            right: false,
        }
    }

    /// Numbers, on the right.
    pub(super) fn right(text: impl Into<String>) -> Self {
        Self {
            right: true,
            ..Self::left(text)
        }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// The same in a tone.
    pub(super) fn tone(self, tone: Tone) -> Self {
        Self {
            tone: Some(tone),
            ..self
        }
    }
}

enum Row {
    /// Names of columns: one whose cells are all empty is left out.
    Head(Vec<Cell>),
    Cells(Vec<Cell>),
    /// A line of its own that no column waits for, painted already.
    Line(String),
}

/// Rows to be drawn together.
#[derive(Default)]
pub(super) struct Columns {
    rows: Vec<Row>,
}

impl Columns {
    pub(super) fn head(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row::Head(cells));
    }

    pub(super) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row::Cells(cells));
    }

    pub(super) fn line(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Line(text.into()));
    }

    /// Draws; a line has no blanks at its end.
    pub(super) fn draw(&self, out: &mut dyn Write, style: Style) -> io::Result<()> {
        let widths = self.widths();
        for row in &self.rows {
            match row {
                Row::Line(text) => writeln!(out, "{text}")?,
                Row::Head(cells) | Row::Cells(cells) => draw_row(out, cells, &widths, style)?,
            }
        }
        Ok(())
    }

    /// Width of each column; 0 for one that only has a name.
    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        let mut names: &[Cell] = &[];
        for row in &self.rows {
            match row {
                Row::Head(cells) => names = cells,
                Row::Cells(cells) => {
                    widths.resize(widths.len().max(cells.len()), 0);
                    for (width, cell) in widths.iter_mut().zip(cells) {
                        *width = (*width).max(cell.width());
                    }
                }
                Row::Line(_) => {}
            }
        }
        for (width, name) in widths
            .iter_mut()
            .zip(names)
            .filter(|(width, _)| **width > 0)
        {
            *width = (*width).max(name.width());
        }
        widths
    }
}

fn draw_row(out: &mut dyn Write, cells: &[Cell], widths: &[usize], style: Style) -> io::Result<()> {
    // Blanks are owed until something follows them.
    let mut owed = 0;
    let shown = cells.iter().zip(widths).filter(|(_, width)| **width > 0);
    for (i, (cell, width)) in shown.enumerate() {
        let pad = width - cell.width();
        owed += if i > 0 { 2 } else { 0 };
        if cell.text.is_empty() {
            owed += pad;
            continue;
        }
        owed += if cell.right { pad } else { 0 };
        write!(out, "{:owed$}", "")?;
        match cell.tone {
            Some(tone) => out.write_all(style.paint(tone, &cell.text).as_bytes())?,
            None => out.write_all(cell.text.as_bytes())?,
        }
        owed = if cell.right { 0 } else { pad };
    }
    writeln!(out)
}

/// Breaks text at blanks into lines of at most `width` columns; a longer word stands alone.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_blanks_at_their_end() {
        let mut columns = Columns::default();
        columns.row(vec![
            Cell::left("metric"),
            Cell::right("value"),
            Cell::left("verdict"),
        ]);
        columns.line("between");
        columns.row(vec![
            Cell::left("µ"),
            Cell::right("12.5 µs"),
            Cell::left(""),
        ]);
        columns.row(vec![Cell::left("r"), Cell::right(""), Cell::left("pass")]);
        let mut out = Vec::new();
        columns
            .draw(
                &mut out,
                Style {
                    color: false,
                    width: 80,
                },
            )
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "metric    value  verdict\nbetween\nµ       12.5 µs\nr                pass\n"
        );
    }

    #[test]
    fn a_column_that_only_has_a_name_is_left_out() {
        let mut columns = Columns::default();
        columns.head(["a", "unused", "c"].map(Cell::left).to_vec());
        columns.row(["1", "", "3"].map(Cell::left).to_vec());
        let mut out = Vec::new();
        columns
            .draw(
                &mut out,
                Style {
                    color: false,
                    width: 80,
                },
            )
            .unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a  c\n1  3\n");
    }

    #[test]
    fn text_breaks_at_blanks_and_a_long_word_stands_alone() {
        assert_eq!(
            wrap("a bb  ccc dddddddd e", 5),
            ["a bb", "ccc", "dddddddd", "e"]
        );
        assert!(wrap("  ", 5).is_empty());
    }
}
