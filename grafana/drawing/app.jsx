// Draws a dashboard with Grafana's published components: ?dashboard=FILE&data=FILE&theme=dark&width=1400.
import React, { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { flushSync } from 'react-dom';
import {
  createTheme, dateTime, getDisplayValueAlignmentFactors, getFieldDisplayValues, ThemeContext, VizOrientation,
} from '@grafana/data';
import {
  BigValue, GlobalStyles, Icon, PanelChrome, PanelContextProvider, TimeSeries, VizRepeater,
} from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import '@grafana/react-data-grid/lib/styles.css';
import 'uplot/dist/uPlot.min.css';
import { init, panelFrames } from './frames.js';
import { States } from './states.jsx';

const asked = new URLSearchParams(location.search);
const theme = createTheme({ colors: { mode: asked.get('theme') } });
const TIME_ZONE = 'utc';
const CELL = 30, GAP = 8, COLUMNS = 24, MARGIN = 16; // Grafana's grid
const width = Number(asked.get('width'));
const column = (width - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS;
// For sandbox/drawing.py: panels that are there, the texts of their axes, and what failed.
const report = { drawn: 0, axes: {}, errors: [] };
window.report = report;
let variables = {};

const filled = (text) => text?.replace(/\$\{?(\w+)\}?/g, (all, name) => variables[name] ?? all);
const box = (grid) => ({
  position: 'absolute', left: MARGIN + grid.x * (column + GAP), top: grid.y * (CELL + GAP),
  width: grid.w * column + (grid.w - 1) * GAP, height: grid.h * CELL + (grid.h - 1) * GAP,
});

function Empty({ text }) {
  const style = { height: '100%', display: 'flex', alignItems: 'center', justifyContent: 'center' };
  return <div style={{ ...style, color: theme.colors.text.secondary }}>{text}</div>;
}

function Numbers({ panel, frames, fieldConfig, w, h }) {
  const options = panel.options;
  const values = getFieldDisplayValues({
    fieldConfig, reduceOptions: options.reduceOptions, replaceVariables: filled, theme, data: frames,
    sparkline: options.graphMode !== 'none', timeZone: TIME_ZONE,
  });
  return (
    <VizRepeater source={frames} getValues={() => values} getAlignmentFactors={getDisplayValueAlignmentFactors}
      width={w} height={h} autoGrid itemSpacing={3} renderCounter={0}
      orientation={options.orientation ?? VizOrientation.Auto}
      renderValue={({ value, alignmentFactors, width: each, height: tall, count }) => (
        <BigValue value={value.display} count={count} sparkline={value.sparkline} colorMode={options.colorMode}
          graphMode={options.graphMode} justifyMode={options.justifyMode} textMode={options.textMode}
          alignmentFactors={alignmentFactors} text={options.text} width={each} height={tall} theme={theme}
          disableWideLayout={!options.wideLayout} percentChangeColorMode={options.percentChangeColorMode} />
      )} />
  );
}

// The plugin that draws annotations is not published.
function mark(plot, annotations) {
  const context = plot.ctx, ratio = devicePixelRatio, { left, top, width: wide, height: tall } = plot.bbox;
  context.save();
  for (const one of annotations) {
    const x = plot.valToPos(one.time, 'x', true), bottom = top + tall;
    if (x < left || x > left + wide) continue;
    context.strokeStyle = context.fillStyle = theme.visualization.getColorByName(one.color);
    context.lineWidth = ratio;
    context.setLineDash([5 * ratio, 5 * ratio]);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, bottom);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x, bottom);
    context.lineTo(x - 5 * ratio, bottom + 5 * ratio);
    context.lineTo(x + 5 * ratio, bottom + 5 * ratio);
    context.closePath();
    context.fill();
  }
  context.restore();
}

function Lines({ panel, data, frames, w, h }) {
  return (
    <TimeSeries frames={frames} width={w} height={h} timeRange={data.range} timeZone={TIME_ZONE}
      legend={panel.options.legend} options={panel.options}>
      {(builder) => {
        builder.addHook('draw', (plot) => {
          mark(plot, data.annotations);
          report.axes[panel.title] = plot.axes.slice(1).flatMap((axis) => axis._values ?? []);
        });
        return null;
      }}
    </TimeSeries>
  );
}

function Content({ panel, data, w, h }) {
  const [ready, setReady] = useState();
  useEffect(() => {
    panelFrames(panel, data, theme, TIME_ZONE, filled).then(setReady)
      .catch((error) => report.errors.push(`${panel.title}: ${error}`))
      .finally(() => { report.drawn += 1; });
  }, []);
  if (!ready) return null;
  const { frames, fieldConfig } = ready, options = panel.options;
  if (panel.type === 'stat') return <Numbers {...{ panel, frames, fieldConfig, w, h }} />;
  if (!frames.some((frame) => frame.length)) return <Empty text={fieldConfig.defaults.noValue ?? 'No data'} />;
  switch (panel.type) {
    case 'table':
      return <TableNG data={frames[0]} width={w} height={h} noHeader={!options.showHeader}
        cellHeight={options.cellHeight} sortBy={options.sortBy} fieldConfig={fieldConfig}
        noValue={fieldConfig.defaults.noValue} enableVirtualization={false} structureRev={1} />;
    case 'timeseries':
      return <Lines {...{ panel, data, frames, w, h }} />;
    case 'state-timeline':
      return <States {...{ frames, options, theme, range: data.range, width: w, height: h, timeZone: TIME_ZONE }} />;
    default:
      report.errors.push(`${panel.title}: the type ${panel.type} is not drawn`);
      return null;
  }
}

function Panel({ panel, data }) {
  const place = box(panel.gridPos);
  if (panel.type === 'row') {
    const style = { ...place, display: 'flex', alignItems: 'center', gap: 8, fontWeight: 500 };
    const closed = panel.collapsed ? 'angle-right' : 'angle-down';
    return <div style={{ ...style, color: theme.colors.text.primary }}><Icon name={closed} />{panel.title}</div>;
  }
  const links = panel.links?.length ? (
    <PanelChrome.TitleItem>
      <Icon name={panel.links.length === 1 ? 'external-link-alt' : 'link'} size="md" />
    </PanelChrome.TitleItem>
  ) : undefined;
  return (
    <div style={place} data-panel={panel.title}>
      <PanelChrome width={place.width} height={place.height} title={filled(panel.title)} titleItems={links}
        description={panel.description} padding={panel.type === 'table' ? 'none' : 'md'}>
        {(w, h) => <Content panel={panel} data={data} w={w} h={h} />}
      </PanelChrome>
    </div>
  );
}

const none = { unsubscribe() {} };
const events = {
  publish() {}, getStream: () => ({ subscribe: () => none, pipe: () => ({ subscribe: () => none }) }),
  subscribe: () => none, removeAllListeners() {}, newScopedBus() { return this; },
};

async function main() {
  init();
  const root = createRoot(document.getElementById('root'));
  const styles = <GlobalStyles />;
  // It declares the fonts, and Grafana measures texts on a canvas: they have to be there first.
  flushSync(() => root.render(<ThemeContext.Provider value={theme}>{styles}</ThemeContext.Provider>));
  await Promise.all(['400', '500'].map((weight) => document.fonts.load(`${weight} 14px Inter`)));
  const files = ['dashboard', 'data'].map((name) => fetch(asked.get(name)).then((answer) => answer.json()));
  const [dashboard, data] = await Promise.all(files);
  variables = data.variables;
  const [from, to] = data.range.map((time) => dateTime(time * 1000));
  data.range = { from, to, raw: { from, to } };
  const ends = dashboard.panels.map((panel) => panel.gridPos.y + panel.gridPos.h);
  const height = Math.max(...ends) * (CELL + GAP) + MARGIN;
  report.wanted = dashboard.panels.filter((panel) => panel.type !== 'row').length;
  report.height = height + GAP;
  const page = { position: 'relative', width, height, background: theme.colors.background.canvas, paddingTop: GAP };
  root.render(
    <ThemeContext.Provider value={theme}>
      <PanelContextProvider value={{ eventBus: events, eventsScope: 'global' }}>
        {styles}
        <div style={page}>
          <div style={{ position: 'relative' }}>
            {dashboard.panels.map((panel) => <Panel key={panel.id} panel={panel} data={data} />)}
          </div>
        </div>
      </PanelContextProvider>
    </ThemeContext.Provider>,
  );
}

main().catch((error) => report.errors.push(String(error.stack)));
