// A stand-in for the state timeline, which is not published: names, texts and colours are Grafana's, the bars are not.
import React from 'react';
import { colorManipulator, dateTimeFormat, FieldType, getFieldDisplayName } from '@grafana/data';
import { measureText, VizLayout, VizLegend } from '@grafana/ui';

const AXIS = 22, TICKS = 4;

function barsOf(field, times, step, to) {
  const bars = [];
  field.values.forEach((value, index) => {
    const shown = field.display(value), last = bars.at(-1), end = Math.min(times[index] + step, to);
    if (last && last.shown.text === shown.text && last.end >= times[index]) last.end = end;
    else bars.push({ shown, start: times[index], end });
  });
  return bars;
}

export function States({ frames, width, height, options, range, theme, timeZone }) {
  const from = range.from.valueOf(), to = range.to.valueOf();
  const rows = frames.flatMap((frame) => frame.fields.filter((field) => field.type === FieldType.number)
    .map((field) => ({
      name: getFieldDisplayName(field, frame, frames),
      bars: barsOf(field, frame.fields[0].values, frame.fields[0].config.interval ?? 60000, to),
    })));
  const seen = new Map(rows.flatMap((row) => row.bars).map((bar) => [bar.shown.text, bar.shown]));
  const items = [...seen.values()].map((shown) => ({ label: shown.text, color: shown.color, yAxis: 1 }));
  const { placement, displayMode, showLegend } = options.legend;
  const legend = showLegend ? (
    <VizLayout.Legend placement={placement}>
      <VizLegend items={items} placement={placement} displayMode={displayMode} readonly />
    </VizLayout.Legend>
  ) : undefined;
  const left = Math.max(...rows.map((row) => measureText(row.name, 12).width)) + 16;
  const ticks = Array.from({ length: TICKS }, (_, index) => from + (to - from) * (index + .5) / TICKS);
  const ink = theme.colors.text.primary;
  return (
    <VizLayout width={width} height={height} legend={legend}>{(w, h) => {
      const each = (h - AXIS) / rows.length, bar = each * options.rowHeight;
      const x = (time) => left + (w - left) * (time - from) / (to - from);
      return (
        <svg width={w} height={h} style={{ fontSize: 12, fontFamily: theme.typography.fontFamily }}>
          {ticks.map((time) => (
            <text key={time} x={x(time)} y={h - 5} textAnchor="middle" fill={ink}>
              {dateTimeFormat(time, { format: 'HH:mm:ss', timeZone })}
            </text>
          ))}
          {rows.map((row, index) => (
            <g key={row.name}>
              <text x={left - 8} y={(index + .5) * each + 4} textAnchor="end" fill={ink}>{row.name}</text>
              {row.bars.map((one) => (
                <rect key={one.start} x={x(one.start)} width={x(one.end) - x(one.start)}
                  y={index * each + (each - bar) / 2} height={bar}
                  fill={colorManipulator.alpha(one.shown.color, .7)} />
              ))}
            </g>
          ))}
        </svg>
      );
    }}</VizLayout>
  );
}
