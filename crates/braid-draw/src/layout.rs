//! Layout: links in columns; lines pass only the bars of their route.

use std::fmt::Write as _;

use braid_scenario::model::Scenario;

use crate::flows::Flow;

/// Width of a bar, and space between columns.
pub(crate) const WIDE: usize = 196;
pub(crate) const GAP: usize = 44;
/// Width of the columns of senders and receivers.
const LEFT: usize = 148;
pub(crate) const RIGHT: usize = 132;
/// Space between two lines in a bar, of a bar beside its lines, of the name above it and of the text below it.
pub(crate) const LANE: usize = 9;
pub(crate) const BAR: usize = 9;
pub(crate) const NAME: usize = 18;
const WORDS: usize = 34;
const APART: usize = 10;
/// Height of a host's line.
const HOST: usize = 17;

/// Nodes as column and index in it, in the order of a line.
type Stops = Vec<(usize, usize)>;

/// A bar, or space for lines beside the bars of a column.
struct Node {
    link: Option<usize>,
    lanes: Vec<usize>,
    y: usize,
}

impl Node {
    fn height(&self) -> usize {
        match self.link {
            Some(_) => NAME + BAR + self.lanes.len() * LANE + WORDS,
            None => LANE,
        }
    }

    fn lane_y(&self, lane: usize) -> usize {
        let place = self.lanes.iter().position(|&own| own == lane).unwrap_or(0);
        let first = if self.link.is_some() { self.y + NAME + BAR / 2 } else { self.y };
        first + place * LANE + LANE / 2
    }
}

/// Where a bar is drawn.
pub(crate) struct BarBox {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) lanes: usize,
}

pub(crate) struct Layout {
    columns: Vec<Vec<Node>>,
    /// Flow of each line, and index in it.
    owners: Vec<(usize, usize)>,
    /// Nodes of each line.
    stops: Vec<Stops>,
    hosts: Vec<usize>,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Layout {
    pub(crate) fn new(scenario: &Scenario, flows: &[Flow]) -> Self {
        let owners: Vec<(usize, usize)> = flows
            .iter()
            .enumerate()
            .flat_map(|(flow, of)| (0..of.lanes.len()).map(move |place| (flow, place)))
            .collect();
        let routes: Vec<&[usize]> =
            owners.iter().map(|&(flow, place)| &flows[flow].lanes[place].route[..]).collect();
        let (mut columns, mut stops) = nodes(&columns_of(scenario, &routes), &routes);
        order(&mut columns, &mut stops);

        let hosts: Vec<usize> = flows.iter().map(|flow| HOST * flow.lanes.len().max(2) + APART).collect();
        let of_column = |column: &Vec<Node>| column.iter().map(|node| node.height() + APART).sum::<usize>();
        let height = columns.iter().map(of_column).chain([hosts.iter().sum()]).max().unwrap_or(0);
        for column in &mut columns {
            let mut y = (height - of_column(column)) / 2;
            for node in column {
                node.y = y;
                y += node.height() + APART;
            }
        }
        let mut y = (height - hosts.iter().sum::<usize>()) / 2;
        let hosts = hosts.into_iter().map(|high| {
            y += high;
            y - high / 2
        });
        let width = LEFT + GAP + columns.len() * (WIDE + GAP) + RIGHT;
        Self { hosts: hosts.collect(), columns, owners, stops, width, height: height + 4 }
    }

    pub(crate) fn links(&self) -> impl Iterator<Item = (BarBox, usize)> {
        self.columns.iter().enumerate().flat_map(|(column, nodes)| {
            nodes.iter().filter_map(move |node| {
                Some((BarBox { x: x_of(column), y: node.y, lanes: node.lanes.len() }, node.link?))
            })
        })
    }

    pub(crate) fn owner(&self, lane: usize) -> (usize, usize) {
        self.owners[lane]
    }

    /// The line with the name of each flow.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = usize> {
        self.hosts.iter().copied()
    }

    /// End of each line.
    pub(crate) fn ends(&self) -> impl Iterator<Item = usize> {
        (0..self.owners.len()).map(|lane| self.beside_host(lane, HOST))
    }

    /// The lines of a flow are centred on its host.
    fn beside_host(&self, lane: usize, apart: usize) -> usize {
        let (flow, place) = self.owners[lane];
        let count = self.owners.iter().filter(|(own, _)| *own == flow).count();
        self.hosts[flow] + place * apart - (count - 1) * apart / 2
    }

    /// The line of each subflow as the `d` of a path.
    pub(crate) fn ways(&self) -> impl Iterator<Item = String> {
        self.stops.iter().enumerate().map(|(lane, stops)| {
            let (mut x, mut y) = (LEFT, self.beside_host(lane, LANE));
            let mut way = format!("M{x} {y}");
            let mut bend = |to_x: usize, to_y: usize, on: usize| {
                let half = (to_x.max(x) - x.min(to_x)).min(GAP) / 2;
                let (out, back) = (x + half, to_x - half);
                if y == to_y && to_x > x {
                    let _ = write!(way, "H{on}");
                } else {
                    let _ = write!(way, "C{out} {y} {back} {to_y} {to_x} {to_y}H{on}");
                }
                (x, y) = (on, to_y);
            };
            for &(column, place) in stops {
                bend(x_of(column), self.columns[column][place].lane_y(lane), x_of(column) + WIDE);
            }
            bend(self.width - RIGHT, self.beside_host(lane, HOST), self.width - RIGHT);
            way
        })
    }
}

fn x_of(column: usize) -> usize {
    LEFT + GAP + column * (WIDE + GAP)
}

/// The column of each drawn link: after all previous ones on its routes. Edges that would close a ring are ignored.
fn columns_of(scenario: &Scenario, routes: &[&[usize]]) -> Vec<Option<usize>> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); scenario.links.len()];
    for (from, to) in routes.iter().flat_map(|route| route.windows(2)).map(|pair| (pair[0], pair[1])) {
        if from != to && !leads(&before, from, to) {
            before[to].push(from);
        }
    }
    let mut columns: Vec<Option<usize>> = vec![None; scenario.links.len()];
    for &link in routes.iter().copied().flatten() {
        columns[link] = Some(0);
    }
    // No route is longer than there are links, so this is enough.
    for _ in 0..scenario.links.len() {
        for link in 0..scenario.links.len() {
            let least = before[link].iter().filter_map(|&from| columns[from]).map(|column| column + 1).max();
            columns[link] = columns[link].map(|column| column.max(least.unwrap_or(0)));
        }
    }
    columns
}

/// Whether `to` is before `from` already.
fn leads(before: &[Vec<usize>], from: usize, to: usize) -> bool {
    before[from].iter().any(|&earlier| earlier == to || leads(before, earlier, to))
}

/// Bars, and space for lines that pass a column without a bar.
fn nodes(column_of: &[Option<usize>], routes: &[&[usize]]) -> (Vec<Vec<Node>>, Vec<Stops>) {
    let count = column_of.iter().flatten().max().map_or(0, |last| last + 1);
    let mut columns: Vec<Vec<Node>> = (0..count).map(|_| Vec::new()).collect();
    let mut stops = Vec::new();
    for (lane, route) in routes.iter().enumerate() {
        let mut own = Stops::new();
        let mut next = 0;
        let pass = |columns: &mut Vec<Vec<Node>>, own: &mut Stops, column: usize| {
            columns[column].push(Node { link: None, lanes: vec![lane], y: 0 });
            own.push((column, columns[column].len() - 1));
        };
        for &link in *route {
            let Some(column) = column_of[link] else { continue };
            for skipped in next..column {
                pass(&mut columns, &mut own, skipped);
            }
            let place =
                columns[column].iter().position(|node| node.link == Some(link)).unwrap_or_else(|| {
                    columns[column].push(Node { link: Some(link), lanes: Vec::new(), y: 0 });
                    columns[column].len() - 1
                });
            columns[column][place].lanes.push(lane);
            own.push((column, place));
            next = column + 1;
        }
        for skipped in next..count {
            pass(&mut columns, &mut own, skipped);
        }
        stops.push(own);
    }
    (columns, stops)
}

/// Orders nodes by the mean height of their lines.
fn order(columns: &mut [Vec<Node>], stops: &mut [Stops]) {
    for (index, column) in columns.iter_mut().enumerate() {
        let mean = |node: &Node| node.lanes.iter().sum::<usize>() as f64 / node.lanes.len().max(1) as f64;
        let mut places: Vec<usize> = (0..column.len()).collect();
        places.sort_by(|&a, &b| mean(&column[a]).total_cmp(&mean(&column[b])));
        let mut nodes: Vec<Option<Node>> = column.drain(..).map(Some).collect();
        column.extend(places.iter().filter_map(|&place| nodes[place].take()));
        for stop in stops.iter_mut().flatten().filter(|(own, _)| *own == index) {
            stop.1 = places.iter().position(|&place| place == stop.1).unwrap_or(0);
        }
    }
}
