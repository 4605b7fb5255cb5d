//! looplet
