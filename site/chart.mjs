// Common parts of the plots for the gallery and the schedulers.
import * as vega from 'vega';
import * as vegaLite from 'vega-lite';

export const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#a6519a', '#8a6d00', '#555555'];
export const BASE = { $schema: 'https://vega.github.io/schema/vega-lite/v6.json', width: 480, background: 'white' };

export async function svg(chart) {
  const { spec } = vegaLite.compile(chart, { logger: vega.logger(vega.Error) });
  return new vega.View(vega.parse(spec), { renderer: 'none' }).toSVG();
}
