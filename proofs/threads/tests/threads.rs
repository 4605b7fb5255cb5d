//! Loops on threads, whichever goes on when: each iteration runs once, what it appends and folds is in the order of
//! iterations, and the first that fails says why. What is expected is counted by hand.

use fiberloom_threads::{Failure, Iteration, Kernel, Made, Map, Pieces, tried};
use shuttle::rand::{Rng, thread_rng};

/// Two and three threads with each iteration a piece; four pieces of several for three threads.
const CUTS: [(Pieces, i64); 3] = [(Pieces::Each(2), 4), (Pieces::Each(3), 5), (Pieces::Usual, 10)];

/// A kernel that neither appends nor folds.
fn kernel<'b>(
    (pieces, iterations): (Pieces, i64),
    body: &'b (dyn Fn(&mut Iteration) -> Result<(), Failure> + Sync),
) -> Kernel<'b> {
    Kernel { iterations, pieces, memory: 1 << 20, appends: false, folds: false, elements: 0, body }
}

/// Iteration i appends i + 1 values, of which each says whose it is, and notes how many there are.
fn appends(i: &mut Iteration) -> Result<(), Failure> {
    (0..=i.number).try_for_each(|k| i.append(100 * i.number + k))?;
    i.note();
    Ok(())
}

/// The values of `appends`, their places and the notes.
fn appended(n: i64) -> (Vec<i64>, Vec<i64>, Vec<i32>) {
    let (mut values, mut notes) = (vec![-1], vec![1]);
    for i in 0..n {
        values.extend((0..=i).map(|k| 100 * i + k));
        notes.push(values.len() as i32);
    }
    let places = (0..values.len() as i64).collect();
    (values, places, notes)
}

fn assert_appended(made: Made, n: i64) {
    assert_eq!(made.ended, Ok(()));
    assert_eq!((made.values, made.places, made.notes), appended(n));
}

/// The map that iteration i folds: it appends the digit i + 1 to a number to the base 11.
fn map(i: i64) -> Map {
    Map { times: 11, plus: i as u32 + 1 }
}

/// Whether a map appends the digits of these iterations, in their order, to what a map before it makes of a number.
fn appends_digits(made: Map, before: Map, of: impl Iterator<Item = i64> + Clone) -> bool {
    let after = |x: u32| of.clone().fold(before.of(x), |x, i| x.wrapping_mul(11).wrapping_add(i as u32 + 1));
    [0, 1].into_iter().all(|x| made.of(x) == after(x))
}

#[test]
fn each_iteration_runs_once() {
    for cut in CUTS {
        tried(400, move || {
            let made = kernel(cut, &|i| {
                i.runs();
                Ok(())
            })
            .run();
            assert_eq!((made.ended, made.ran), (Ok(()), vec![1; cut.1 as usize]));
        });
    }
}

/// Threads for whose copies of a workspace there is no memory begin nothing; if none begins, the loop runs on one.
#[test]
fn threads_that_have_no_memory_leave_pieces_to_others() {
    for cut in CUTS {
        tried(400, move || {
            let memory = (8 * (cut.1 + 2) + thread_rng().gen_range(0..4) * 16) as usize;
            let counted = |i: &mut Iteration| {
                i.runs();
                Ok(())
            };
            let made = Kernel { memory, ..kernel(cut, &counted) }.run();
            assert_eq!((made.ended, made.ran), (Ok(()), vec![1; cut.1 as usize]));
        });
    }
}

/// Where there is no memory for as much as several threads ask for, one thread asks.
#[test]
fn memory_for_the_workspace_of_one_thread_suffices() {
    for cut in CUTS {
        tried(400, move || {
            // An i64 for each iteration, and a workspace of 2 elements that grows to 40.
            let memory = (8 * cut.1 + 8 * 40 + thread_rng().gen_range(0..50) * 16) as usize;
            let grows = |i: &mut Iteration| i.runs_with(if i.number % 2 == 0 { 20 } else { 40 });
            let made = Kernel { memory, ..kernel(cut, &grows) }.run();
            assert_eq!((made.ended, made.ran), (Ok(()), vec![1; cut.1 as usize]));
        });
    }
}

/// Iterations 1, 2 and 3 fail, each otherwise: 1 says why, and 0 has run.
#[test]
fn the_first_failure_is_told() {
    for cut in CUTS {
        tried(400, move || {
            let made = kernel(cut, &|i| {
                i.runs();
                [(1, Failure::Outside), (2, Failure::Overflow), (3, Failure::Positions)]
                    .into_iter()
                    .try_for_each(|(number, failure)| if i.number == number { Err(failure) } else { Ok(()) })
            })
            .run();
            assert_eq!(made.ended, Err(Failure::Outside));
            assert_eq!(made.ran[..2], [1, 1]);
            assert!(made.ran.iter().all(|ran| *ran <= 1), "{:?}", made.ran);
        });
    }
}

#[test]
fn what_iterations_append_is_in_their_order() {
    for cut in CUTS {
        tried(800, move || assert_appended(Kernel { appends: true, ..kernel(cut, &appends) }.run(), cut.1));
    }
}

/// What the others have appended is given back, whether it waits for the iteration that fails, or is moved.
#[test]
fn a_failure_beside_what_is_appended_is_told() {
    for cut in CUTS {
        tried(400, move || {
            let failing = |i: &mut Iteration| {
                appends(i)?;
                if i.number == 2 { Err(Failure::Overflow) } else { Ok(()) }
            };
            assert_eq!(Kernel { appends: true, ..kernel(cut, &failing) }.run().ended, Err(Failure::Overflow));
        });
    }
}

/// However little more than one thread needs there is, the loop comes to its end, on one thread if it must.
#[test]
fn memory_for_one_thread_suffices() {
    for (pieces, n) in CUTS {
        // An i64 for each iteration, two for the workspace, a note more than there are iterations, and values and
        // places in arrays that double.
        let room = appended(n).0.len().next_power_of_two().max(16) as i64;
        let least = 8 * (n + 2) + 4 * (n + 1) + 2 * 8 * room;
        tried(800, move || {
            let memory = (least + thread_rng().gen_range(0..64) * 16) as usize;
            let short = Kernel { appends: true, memory, ..kernel((pieces, n), &appends) };
            assert_appended(short.run(), n);
        });
    }
}

#[test]
fn what_iterations_fold_is_folded_in_order() {
    for cut in CUTS {
        tried(400, move || {
            let made = Kernel {
                folds: true,
                ..kernel(cut, &|i| {
                    i.runs();
                    i.fold(map(i.number));
                    Ok(())
                })
            }
            .run();
            assert!(appends_digits(made.folded, Map { times: 1, plus: 0 }, 0..cut.1), "{made:?}");
        });
    }
}

/// The elements that a thread folds into are its own for each piece, as far as there is memory for them.
#[test]
fn elements_are_folded_in_order() {
    for cut in CUTS {
        tried(800, move || {
            // Three elements, with what stands before the loop; and for each thread, and each piece that waits, three
            // more.
            let memory = (8 * (cut.1 + 2) + 24 + thread_rng().gen_range(0..6) * 16) as usize;
            let body = |i: &mut Iteration| {
                i.fold_into((i.number % 2) as usize, map(i.number));
                i.fold_into(2, map(i.number));
                Ok(())
            };
            let made = Kernel { elements: 3, memory, ..kernel(cut, &body) }.run();
            assert_eq!(made.ended, Ok(()));
            for (e, (first, step)) in [(0, 2), (1, 2), (0, 1)].into_iter().enumerate() {
                let before = Map { times: 2, plus: e as u32 };
                assert!(appends_digits(made.elements[e], before, (first..cut.1).step_by(step)), "{e}: {made:?}");
            }
        });
    }
}

/// Elements are folded once, or the loop fails: it does not run again over what some iterations have folded.
#[test]
fn elements_are_not_folded_twice() {
    for cut in CUTS {
        tried(400, move || {
            let memory = (8 * cut.1 + 24 + 8 * 40 + thread_rng().gen_range(0..60) * 16) as usize;
            let grows = |i: &mut Iteration| {
                i.runs_with(40)?;
                i.fold_into(0, map(i.number));
                Ok(())
            };
            let made = Kernel { elements: 3, memory, ..kernel(cut, &grows) }.run();
            let folded = appends_digits(made.elements[0], Map { times: 2, plus: 0 }, 0..cut.1);
            assert!(made.ended == Err(Failure::Memory) || made.ended.is_ok() && folded, "{made:?}");
        });
    }
}

/// Pieces that wait for one that fails give their elements back.
#[test]
fn a_failure_beside_elements_is_told() {
    for cut in CUTS {
        tried(400, move || {
            let failing = |i: &mut Iteration| {
                i.fold_into(0, map(i.number));
                if i.number == 1 { Err(Failure::Outside) } else { Ok(()) }
            };
            let made = Kernel { elements: 3, ..kernel(cut, &failing) }.run();
            assert_eq!(made.ended, Err(Failure::Outside));
        });
    }
}

#[test]
fn iterations_append_and_fold() {
    for cut in CUTS {
        tried(400, move || {
            let both = |i: &mut Iteration| {
                i.fold(map(i.number));
                appends(i)
            };
            let made = Kernel { appends: true, folds: true, ..kernel(cut, &both) }.run();
            assert!(appends_digits(made.folded, Map { times: 1, plus: 0 }, 0..cut.1), "{made:?}");
            assert_appended(made, cut.1);
        });
    }
}
