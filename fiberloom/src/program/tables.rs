//! Tables of a program: which operands their data give.

use super::Program;
use crate::error::Error;
use crate::relation::{Holds, Relations, Table, What};
use fiberloom_core::notation;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::TensorId;

impl Program {
    /// What the program says of labels.
    pub fn relations(&self) -> &Relations {
        &self.typed().relations
    }

    /// The table of that name, if there is one whose data are read.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.relations().tables.iter().find(|table| table.name == name && !table.made)
    }

    /// The table of that name, if statements define its columns.
    pub fn made_table(&self, name: &str) -> Option<&Table> {
        self.relations().tables.iter().find(|table| table.name == name && table.made)
    }

    /// The operands that data for all tables of the program give.
    ///
    /// # Errors
    /// [`Error::Missing`]: tables that are not among `given`.
    pub fn operands_of_tables(&self, given: &[&str]) -> Result<Vec<String>, Error> {
        let relations = self.relations();
        let read = || relations.tables.iter().enumerate().filter(|(_, table)| !table.made);
        let missing = read().filter(|(_, table)| !given.contains(&table.name.as_str()));
        let missing: Vec<_> = missing
            .map(|(_, table)| {
                let message = format!("no data are given for table `{}`", table.name);
                (table.name.clone(), Diagnostic::new(table.span, message))
            })
            .collect();
        if !missing.is_empty() {
            return Err(self.missing(missing));
        }
        let columns = |table: &Table| {
            let columns = table.columns.iter().filter(|column| column.holds != Holds::Text);
            columns.map(|column| column.name.clone()).chain([table.name.clone()]).collect::<Vec<_>>()
        };
        let own = read().flat_map(|(_, table)| columns(table));
        let is_read = |what: &What| match what {
            What::Column { table, .. } => !relations.tables[*table].made,
            _ => true,
        };
        let asked = relations.asked.iter().filter(|asked| is_read(&asked.what)).map(|asked| asked.tensor.clone());
        Ok(own.chain(asked).collect())
    }

    /// The operands that are a table's, each with its table, in their order.
    pub(crate) fn structures(&self) -> Vec<(TensorId, usize)> {
        if self.relations().tables.is_empty() {
            return Vec::new();
        }
        let mut all: Vec<(TensorId, usize)> = notation::structures(self.typed()).into_iter().collect();
        all.sort();
        all
    }
}
