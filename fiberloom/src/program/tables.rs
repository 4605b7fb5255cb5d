//! Tables of a program: which operands their data give, and which results have labels.

use super::Program;
use crate::error::Error;
use crate::kernel::Outcome;
use crate::relation::{self, Bound, Dictionary, Frame, Given, Holds, Relations, Table, What};
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::TensorId;

impl Program {
    /// What the program says of labels.
    pub fn relations(&self) -> &Relations {
        &self.inner.relations
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

    /// The operands that frames are, a frame for each table that is read, by its name. `operands` are the program's others with their
    /// extents, which sizes that they share with tables have. One operand takes `limit` bytes at most.
    ///
    /// # Errors
    /// As of [`relation::bind`].
    pub fn bind_tables(
        &self,
        frames: &[(&str, Frame)],
        operands: &[(&str, &[u64])],
        limit: u64,
    ) -> Result<Bound, Error> {
        let sizes = self.sizes_said(operands);
        relation::bind(self.relations(), self.typed(), &Given { frames, sizes: &sizes, limit })
    }

    /// What operands that are no tables, with their extents, say of sizes.
    pub(crate) fn sizes_said(&self, operands: &[(&str, &[u64])]) -> Vec<(&str, u64)> {
        let typed = self.typed();
        let of = |(name, extents): &(&str, &[u64])| {
            let declared = self.tensor(name).map_or(&[][..], |(_, declared)| &declared.sizes).iter();
            let named = declared.zip(extents.to_vec());
            named.filter_map(|(size, extent)| Some((typed.sizes[size.index()].name.as_deref()?, extent))).collect()
        };
        operands.iter().flat_map(|one| -> Vec<_> { of(one) }).collect()
    }

    /// Whether a result has labels: it is a table, one of its modes is of a domain, or its values are dates, decimals or coordinates.
    pub fn is_labelled(&self, name: &str) -> bool {
        let shown = self.relations().results.get(name);
        let says = |shown: &relation::Shown| {
            shown.modes.iter().any(|(_, domain)| domain.is_some()) || !matches!(shown.holds, Holds::Plain(_))
        };
        self.made_table(name).is_some() || shown.is_some_and(says)
    }

    /// The names of what an outcome gives: in the place of columns of a table that is a result the table, once.
    pub fn given_by(&self, outcome: &Outcome) -> Vec<String> {
        let has = |table: &&Table, name: &String| table.columns.iter().any(|column| column.name == *name);
        let mut names: Vec<String> = Vec::new();
        for (name, _) in &outcome.results {
            let table = self.relations().tables.iter().find(|table| table.made && has(table, name));
            let shown = table.map_or(name, |table| &table.name);
            if !names.contains(shown) {
                names.push(shown.clone());
            }
        }
        names
    }

    /// A result with its labels: a table, or a tensor of a program that has tables or domains; `None` of another program.
    ///
    /// # Errors
    /// As of [`relation::decode`] and [`relation::decode_table`].
    pub fn decoded(
        &self,
        name: &str,
        outcome: &Outcome,
        labels: &[Dictionary],
    ) -> Result<Option<Frame<'static>>, Error> {
        let relations = self.relations();
        if let Some(table) = self.made_table(name) {
            let results: Vec<(&str, &Tensor)> = outcome.results.iter().map(|(n, t)| (n.as_str(), t)).collect();
            return relation::decode_table(relations, table, &results, labels).map(Some);
        }
        let Some(shown) = relations.results.get(name) else { return Ok(None) };
        relation::decode(relations, name, &outcome[name], shown, labels).map(Some)
    }

    /// The operands that are a table's, each with its table, in their order.
    pub(crate) fn structures(&self) -> Vec<(TensorId, usize)> {
        if self.typed().tables.is_empty() {
            return Vec::new();
        }
        let mut all: Vec<(TensorId, usize)> =
            fiberloom_passes::concretize::structures(self.typed()).into_iter().collect();
        all.sort();
        all
    }
}
